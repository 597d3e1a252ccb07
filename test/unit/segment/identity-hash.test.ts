import { expect, test } from 'vitest'
import { hashIdentity, hashUserId } from '../../../src/segment/identity-hash.ts'

const HASHED = 2 ** 31

test.each([
  ['0', 0, 0],
  ['7', 0, 7],
  ['4294967295', 0, 0xffff_ffff],
  ['4294967296', 1, 0],
  ['9007199254740991', 0x1f_ffff, 0xffff_ffff],
])('the user id %s stands for itself', (userId, high, low) => {
  expect(keyOf(userId)).toEqual([high, low])
})

test.each([
  '',
  '01',
  '00',
  '-0',
  '-1',
  '+1',
  '1.0',
  '1e3',
  '0x10',
  ' 1',
  '1 ',
  '1\n',
  '1_000',
  '٣',
  'NaN',
  'Infinity',
  '9007199254740992',
  '9007199254740993',
  '9999999999999999',
  '12345678901234567890',
])('the user id "%s" is hashed', (userId) => {
  expect(keyOf(userId)[0]).toBeGreaterThanOrEqual(HASHED)
})

test('integers beyond 2^53 that are one number as a double are told apart', () => {
  expect(keyOf('9007199254740992')).not.toEqual(keyOf('9007199254740993'))
})

// They lie in segments for years: a new way of hashing would count every event of old twice.
test('hashes are what they were', () => {
  expect(keyOf('ada')).toEqual([3_250_282_569, 3_724_803_130])
  const words = new Uint32Array(2)
  const eventId = Buffer.from('00112233445566778899aabbccddeeff', 'hex')
  hashIdentity(words, [1, 2], { eventId, offset: 0, userNumber: 4_711, day: 20_000 })
  expect([...words]).toEqual([1_525_671_466, 1_864_831_754])
})

function keyOf(userId: string): number[] {
  const words = new Uint32Array(2)
  hashUserId(words, [1, 2], userId)
  return [...words]
}
