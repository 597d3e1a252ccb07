// What the demo shop is: its wares, who comes from where, and how often they go on.
import type { Weighted } from './random.ts'

export type Device = 'desktop' | 'mobile' | 'tablet'

export interface Country {
  readonly code: string
  /** Of all its people; summer time is left out. */
  readonly utcOffsetHours: number
}

export interface Source {
  readonly source: string
  readonly campaign: string | null
  readonly landing: string
}

export interface Product {
  readonly sku: string
  readonly name: string
  readonly category: string
  readonly price: number
}

export const COUNTRIES: Weighted<Country> = [
  [{ code: 'US', utcOffsetHours: -5 }, 26],
  [{ code: 'DE', utcOffsetHours: 1 }, 20],
  [{ code: 'GB', utcOffsetHours: 0 }, 14],
  [{ code: 'FR', utcOffsetHours: 1 }, 11],
  [{ code: 'IN', utcOffsetHours: 5.5 }, 10],
  [{ code: 'BR', utcOffsetHours: -3 }, 8],
  [{ code: 'JP', utcOffsetHours: 9 }, 6],
  [{ code: 'AU', utcOffsetHours: 10 }, 5],
]

export const DEVICES: Weighted<Device> = [
  ['mobile', 57],
  ['desktop', 37],
  ['tablet', 6],
]

/** The one whose payment step is broken in the second half of the range. */
export const BROKEN_BROWSER = 'Firefox'

export const BROWSERS: Record<Device, Weighted<string>> = {
  mobile: [
    ['Chrome', 44],
    ['Safari', 36],
    ['Samsung Internet', 11],
    ['Firefox', 9],
  ],
  desktop: [
    ['Chrome', 54],
    ['Firefox', 20],
    ['Safari', 14],
    ['Edge', 12],
  ],
  tablet: [
    ['Safari', 68],
    ['Chrome', 32],
  ],
}

/** What brings people for the first time. */
export const FIRST_SOURCES: Weighted<Source> = [
  [{ source: 'google', campaign: null, landing: '/' }, 30],
  [{ source: 'google_ads', campaign: 'winter_boots', landing: '/category/shoes' }, 17],
  [{ source: 'instagram', campaign: 'autumn_sale', landing: '/sale' }, 20],
  [{ source: 'direct', campaign: null, landing: '/' }, 18],
  [{ source: 'newsletter', campaign: 'new_arrivals', landing: '/new' }, 6],
  [{ source: 'partner_blog', campaign: null, landing: '/guides/gifts' }, 9],
]

/** What brings them back. */
export const RETURN_SOURCES: Weighted<Source> = [
  [{ source: 'direct', campaign: null, landing: '/' }, 50],
  [{ source: 'newsletter', campaign: 'weekly_letter', landing: '/new' }, 30],
  [{ source: 'google', campaign: null, landing: '/' }, 20],
]

const CATEGORIES = [
  ['shoes', ['Trail boot', 'City sneaker', 'Leather loafer', 'Running shoe', 'Rain boot'], 79],
  ['jackets', ['Rain shell', 'Down jacket', 'Denim jacket', 'Fleece', 'Parka'], 129],
  ['bags', ['Backpack', 'Tote', 'Weekender', 'Hip bag', 'Laptop sleeve'], 59],
  ['accessories', ['Wool hat', 'Scarf', 'Gloves', 'Belt', 'Socks'], 24],
] as const

/** The first of a category are the most looked at. */
export const PRODUCTS: Weighted<Product> = CATEGORIES.flatMap(([category, names, price]) =>
  names.map((name, index): [Product, number] => [
    {
      sku: `${category.slice(0, 2).toUpperCase()}-${100 + index}`,
      ...{ name, category },
      price: price + 10 * ((2 * index) % 5) - 0.5,
    },
    10 / (index + 1),
  ]),
)

export const QUERIES: Weighted<string> = [
  ['boots', 30],
  ['rain jacket', 22],
  ['backpack', 16],
  ['gift', 14],
  ['wool hat', 10],
  ['vegan shoes', 8],
]

/** How often a visit goes on, by device. */
export interface Rates {
  /** Leaves after the landing page. */
  readonly bounce: number
  readonly search: number
  /** Of a product that is looked at. */
  readonly addToCart: number
  /** Of a cart that holds something. */
  readonly beginCheckout: number
  readonly purchase: number
}

export const RATES: Record<Device, Rates> = {
  desktop: { bounce: 0.3, search: 0.32, addToCart: 0.11, beginCheckout: 0.56, purchase: 0.7 },
  mobile: { bounce: 0.42, search: 0.22, addToCart: 0.09, beginCheckout: 0.42, purchase: 0.48 },
  tablet: { bounce: 0.36, search: 0.25, addToCart: 0.1, beginCheckout: 0.5, purchase: 0.6 },
}

/** Of checkouts in the broken browser, in the second half of the range. */
export const BROKEN_PURCHASE_RATE = 0.04
export const SIGN_UP_AT_CHECKOUT_RATE = 0.6
export const SIGN_UP_AT_LEAVING_RATE = 0.05
export const REFUND_RATE = 0.07
export const COUPON_RATE = 0.2

/** Of visitors: nothing but an anonymous id is ever known of them. */
export const ANONYMOUS_RATE = 0.12
/** Of visitors: they had come before the range began. */
export const EARLIER_RATE = 0.3
/** Of events: they arrive hours late, or twice. */
export const LATE_RATE = 0.02
export const TWICE_RATE = 0.01

export const PAYMENTS: Weighted<string> = [
  ['card', 60],
  ['paypal', 30],
  ['invoice', 10],
]

export const REFUND_REASONS: Weighted<string> = [
  ['wrong size', 50],
  ['changed my mind', 30],
  ['damaged', 20],
]

export const QUANTITIES: Weighted<number> = [
  [1, 80],
  [2, 15],
  [3, 5],
]

export const SIGN_UP_METHODS: Weighted<string> = [
  ['email', 60],
  ['google', 30],
  ['apple', 10],
]

/** How many come at which hour of their day, and on which day of the week, Sunday first. */
export const HOUR_WEIGHTS = [
  ...[3, 2, 1, 1, 1, 2, 4, 7, 9, 10, 10, 11],
  ...[12, 11, 10, 10, 10, 11, 13, 16, 18, 17, 12, 7],
]
export const WEEKDAY_WEIGHTS = [1.2, 1, 0.95, 0.95, 0.9, 0.85, 1.1]
