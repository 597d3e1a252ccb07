import type { Random } from './random.ts'
import {
  BROKEN_PURCHASE_RATE,
  COUPON_RATE,
  PAYMENTS,
  PRODUCTS,
  QUANTITIES,
  QUERIES,
  RATES,
  SIGN_UP_AT_CHECKOUT_RATE,
  SIGN_UP_AT_LEAVING_RATE,
  SIGN_UP_METHODS,
  type Device,
  type Product,
} from './shop.ts'

const MORE_PRODUCTS_MEAN = 2.4
const CATEGORY_PAGE_RATE = 0.5
const COUPON_SHARE = 0.1

/** One thing that somebody does. */
export interface Deed {
  readonly event: string
  readonly properties: Readonly<Record<string, unknown>>
}

interface Line {
  readonly product: Product
  readonly quantity: number
}

interface VisitSetting {
  readonly device: Device
  readonly landing: string
  /** Nobody signs up twice, or anonymously. */
  readonly maySignUp: boolean
  readonly isPaymentBroken: boolean
  readonly orderId: string
}

/** Yields what somebody does in one visit, in order. */
export function* visitDeeds(random: Random, setting: VisitSetting): Generator<Deed> {
  const { device, landing, maySignUp } = setting
  const rates = RATES[device]
  yield pageView(landing)
  if (random.chance(rates.bounce)) return
  if (random.chance(rates.search))
    yield {
      event: 'search',
      properties: { query: random.pick(QUERIES), results: random.integer(0, 24) },
    }
  const cart: Line[] = []
  const productCount = 1 + Math.floor(random.gap(MORE_PRODUCTS_MEAN))
  for (let count = 0; count < productCount; count++) {
    const product = random.pick(PRODUCTS)
    if (random.chance(CATEGORY_PAGE_RATE)) yield pageView(`/category/${product.category}`)
    yield pageView(`/product/${product.sku}`)
    yield { event: 'product_view', properties: { product } }
    if (!random.chance(rates.addToCart)) continue
    const line = { product, quantity: random.pick(QUANTITIES) }
    cart.push(line)
    yield { event: 'add_to_cart', properties: { ...line, value: valueOf([line]) } }
  }
  if (cart.length > 0 && random.chance(rates.beginCheckout))
    yield* checkoutDeeds(random, setting, cart)
  else if (maySignUp && random.chance(SIGN_UP_AT_LEAVING_RATE)) yield signUp(random)
}

function* checkoutDeeds(
  random: Random,
  { device, maySignUp, isPaymentBroken, orderId }: VisitSetting,
  cart: readonly Line[],
): Generator<Deed> {
  const items = cart.reduce((sum, { quantity }) => sum + quantity, 0)
  yield pageView('/checkout')
  yield { event: 'begin_checkout', properties: { cart: { items, value: valueOf(cart) } } }
  if (maySignUp && random.chance(SIGN_UP_AT_CHECKOUT_RATE)) yield signUp(random)
  if (!random.chance(isPaymentBroken ? BROKEN_PURCHASE_RATE : RATES[device].purchase)) return
  const coupon = random.chance(COUPON_RATE) ? { coupon: 'WELCOME10' } : {}
  const revenue = valueOf(cart) * ('coupon' in coupon ? 1 - COUPON_SHARE : 1)
  yield {
    event: 'purchase',
    properties: {
      ...{ orderId, items, currency: 'EUR', ...coupon },
      revenue: Math.round(100 * revenue) / 100,
      payment: { method: random.pick(PAYMENTS) },
      products: cart.map(({ product, quantity }) => ({ sku: product.sku, quantity })),
    },
  }
}

function pageView(path: string): Deed {
  return { event: 'page_view', properties: { path } }
}

function signUp(random: Random): Deed {
  const properties = { method: random.pick(SIGN_UP_METHODS), newsletter: random.chance(0.4) }
  return { event: 'sign_up', properties }
}

function valueOf(lines: readonly Line[]): number {
  return lines.reduce((sum, { product, quantity }) => sum + product.price * quantity, 0)
}
