import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../../src/config.ts'
import { AppError } from '../../../src/error.ts'

function faultOf(environment: Record<string, string>): AppError {
  try {
    parseConfig(environment)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('it was taken')
}

describe('the configuration', () => {
  test('needs nothing', () => {
    expect(parseConfig({})).toMatchObject({
      ...{ HOST: '127.0.0.1', PORT: 8080, CASSANDRA_KEYSPACE: 'thousandfold', LOG_LEVEL: 'info' },
    })
  })

  test('takes an empty variable for an absent one', () => {
    const config = parseConfig({ PORT: '', ADMIN_KEY: '', CASSANDRA_CONTACT_POINTS: '' })
    expect(config.PORT).toBe(8080)
    expect(config.ADMIN_KEY).toBeUndefined()
    expect(config.CASSANDRA_CONTACT_POINTS).toBeUndefined()
  })

  test('takes numbers, lists and replicas apart', () => {
    const config = parseConfig({
      PORT: '0',
      CASSANDRA_CONTACT_POINTS: '10.0.0.1:9042, cassandra.local:9043,[::1]:9042',
      CASSANDRA_REPLICATION: 'dc1:3,dc-2:2',
    })
    expect(config.PORT).toBe(0)
    expect(config.CASSANDRA_CONTACT_POINTS).toEqual([
      ...['10.0.0.1:9042', 'cassandra.local:9043', '[::1]:9042'],
    ])
    expect(config.CASSANDRA_REPLICATION).toEqual({ dc1: 3, 'dc-2': 2 })
  })

  test('leaves out what it does not know, and cannot be changed', () => {
    const config = parseConfig({ SECRET_OF_ANOTHER: 'x' })
    expect(config).not.toHaveProperty('SECRET_OF_ANOTHER')
    expect(Object.isFrozen(config)).toBe(true)
  })

  test('tells all its faults together', () => {
    const error = faultOf({ PORT: '80800', CASSANDRA_KEYSPACE: 'No', LOG_LEVEL: 'loud' })
    expect(error.code).toBe('INVALID_CONFIG')
    const names = error.message.split('\n').map((line) => line.split(':')[0])
    expect(names).toEqual(['PORT', 'LOG_LEVEL', 'CASSANDRA_KEYSPACE'])
  })

  test.each([
    ['PORT', ['-1', '65536', 'http', '80.5', '8080x']],
    ['ADMIN_KEY', ['a-short-secret', 'x'.repeat(257)]],
    [
      'CASSANDRA_CONTACT_POINTS',
      ['secret-host', 'host:65536', 'a:b', 'a:1,', 'a:1,,b:2', 'u@h:1 2', '::1:9042x'],
    ],
    ['CASSANDRA_KEYSPACE', ['1abc', 'a-b', 'x; DROP', 'a'.repeat(49)]],
    ['CASSANDRA_REPLICATION', ['3', 'dc1', 'dc1:0', 'dc9:3,', "dc1':3", 'dc1:999']],
    ['CASSANDRA_RUNTIME', ['podman']],
    ['CASSANDRA_HEAP_MB', ['1', '1e9']],
    ['INGEST_LINGER_MS', ['-1', '1001']],
    ['USER_EVENTS_PER_DAY_MAX', ['0']],
  ])('refuses a wrong %s without showing it', (name, values) => {
    for (const value of values) {
      const error = faultOf({ [name]: value })
      expect(error.message).toMatch(new RegExp(`^${name}(\\.\\d+)?: `))
      if (value.length > 3) expect(error.message + String(error.cause ?? '')).not.toContain(value)
    }
  })
})
