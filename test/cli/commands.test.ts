import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { registerCounts } from '../../src/cli/counts.ts'
import { registerFunnel } from '../../src/cli/funnel.ts'
import { registerImport } from '../../src/cli/import.ts'
import { registerKey } from '../../src/cli/key.ts'
import { registerProject } from '../../src/cli/project.ts'
import { writeServiceFile } from '../../src/cli/service-file.ts'
import { registerUser } from '../../src/cli/user.ts'
import { temporaryFolder } from '../support/data-dir.ts'
import { ADMIN_KEY, openTestService, usersOf } from '../support/service.ts'
import { runCommand } from '../support/command-line.ts'

const service = await openTestService()
const folder = await temporaryFolder()
afterAll(folder.remove)
const environment = { DATA_DIR: folder.path, ADMIN_KEY }
await mkdir(folder.path, { recursive: true })
await writeServiceFile(folder.path, {
  ...{ url: service.url, pid: process.pid, contactPoints: [], localDataCenter: 'datacenter1' },
})

const project = await service.createProject({ name: 'shop' })
const hourAgo = (minute: number) => new Date(Date.now() - 3_600_000 + minute * 60_000).toISOString()

/** Three see the page, two of them the price, one of them buys. */
const ROWS = [
  ['ada', 'page_view', '/', 'DE', hourAgo(0)],
  ['ada', 'page_view', '/pricing', 'DE', hourAgo(1)],
  ['ada', 'purchase', '', 'DE', hourAgo(2)],
  ['bob', 'page_view', '/', 'FR', hourAgo(0)],
  ['bob', 'page_view', '/pricing', 'FR', hourAgo(1)],
  ['eve', 'page_view', '/', '\u001b[31mred', hourAgo(0)],
]
const file = join(folder.path, 'shop.csv')
await writeFile(file, ['user,name,path,country,at', ...ROWS.map((row) => row.join(','))].join('\n'))

const IMPORT = ['import', file, '--project', project.id, '--map', 'user=user,event=name,time=at']
const FUNNEL = 'page_view[path=/] > page_view[path=/pricing] > purchase|quick_buy'
const funnel = (...words: string[]) =>
  runCommand(registerFunnel, ['funnel', ...words, '--project', project.id], environment)
const user = (...words: string[]) =>
  runCommand(registerUser, ['user', ...words, '--project', project.id], environment)

describe('the command line', () => {
  test('imports a file that can then be asked about, and again without a change', async () => {
    for (const time of ['first', 'second']) {
      const { code, out } = await runCommand(registerImport, IMPORT, environment)
      expect([time, code, out]).toEqual([
        ...[time, 0],
        expect.stringContaining('read 6, accepted 6, refused 0'),
      ])
      const { events } = await project.userEvents('ada')
      expect(events.map(({ event }) => event)).toEqual(['purchase', 'page_view', 'page_view'])
      const answer = await funnel(FUNNEL, '--json')
      expect(usersOf(JSON.parse(answer.out) as never)).toEqual([3, 2, 1])
    }
  })

  test('tells the lines that the service refuses', async () => {
    const old = join(folder.path, 'old.csv')
    await writeFile(old, 'userId,event,time\nada,x,2001-01-01\n')
    const words = ['import', old, '--project', project.id]
    const { code, out } = await runCommand(registerImport, words, environment)
    expect(code).toBe(3)
    expect(out).toContain('  line 2: TIME_OUT_OF_RANGE: time: older than the 400 days kept\n')
  })

  test('draws a funnel with bars, counts and shares, and what it rests on', async () => {
    const { code, out } = await funnel(FUNNEL, '--window', '7d')
    const [first, second, third, , definition, , below] = stripVTControlCharacters(out).split('\n')
    expect(code).toBe(0)
    expect(first).toMatch(/^1 page_view +█{40} 3$/)
    expect(second).toMatch(/^2 page_view +█{27}░{13} 2 {2}66\.7 % of all, 66\.7 % of the last$/)
    expect(third).toMatch(/^3 purchase or quick_buy █{13}░{27} 1 {2}33\.3 % of all, 50\.0 % of/)
    expect(definition).toMatch(/^Users by their longest chain .* all within 7 days of .*\.$/)
    expect(below).toMatch(/^users, as of .*Z; read \d+ events of \d+ partitions in [\d.]+ ms$/)
  })

  test('draws a block for each value of a breakdown, harmless to a terminal', async () => {
    const { out } = await funnel(FUNNEL, '--by', 'country')
    const text = stripVTControlCharacters(out)
    expect(text).toMatch(/\nDE\n1 page_view .* 1\n/)
    expect(text).toMatch(/\nFR\n1 page_view .* 1\n/)
    expect(text).toContain('\n?[31mred\n')
  })

  test('counts the values of a property where it is asked to', async () => {
    const { out } = await funnel(FUNNEL, '--count-by', 'country')
    const text = stripVTControlCharacters(out)
    expect(text).toMatch(/^1 page_view .* 3\n/)
    expect(text).toMatch(/\ncountry, as of /)
  })

  test('lists what a user did, newest first', async () => {
    const { code, out } = await user('ada', '--limit', '2')
    expect(code).toBe(0)
    const [newest, next, more] = out.split('\n')
    expect(newest).toMatch(/^\S+Z {2}purchase +\{"country":"DE"\}$/)
    expect(next).toMatch(/^\S+Z {2}page_view +\{"path":"\/pricing","country":"DE"\}$/)
    expect(more).toMatch(/^more: --cursor \S+$/)
    const rest = await user('ada', '--cursor', more!.split(' ').at(-1)!, '--json')
    expect(JSON.parse(rest.out)).toMatchObject({ events: [{ properties: { path: '/' } }] })
    expect((await user('nobody')).out).toBe('no events\n')
  })

  test('erases a user, and shows nothing of it afterwards', async () => {
    await project.store([{ event: 'x', userId: 'erase me' }])
    const gone = await user('erase', 'erase me')
    expect([gone.code, gone.errors]).toEqual([0, ''])
    expect(gone.out).toMatch(/^erase me is in no answer any more, with all received until \S+Z\n$/)
    expect((await user('erase me')).out).toBe('no events\n')
    const [asJson, refused] = [
      await user('erase', 'nobody', '--json'),
      await user('erase', 'bob', '--key', project.readKey),
    ]
    expect(JSON.parse(asJson.out)).toMatchObject({ userId: 'nobody' })
    expect([refused.code, refused.errors]).toEqual([
      1,
      'FORBIDDEN: this key has not the right to erase\n',
    ])
  })

  test('counts events by day, by hour and by name', async () => {
    const counts = async (...words: string[]) => {
      const asked = ['counts', ...words, '--project', project.id]
      const { out } = await runCommand(registerCounts, asked, environment)
      return out
    }
    expect(await counts('--event', 'purchase')).toMatch(/\n\n1 events, as of \S+Z\n$/)
    const hours = await counts('--event', 'page_view', '--interval', 'hour', '--json')
    const { counts: told } = JSON.parse(hours) as { counts: { count: number }[] }
    expect(told.reduce((sum, { count }) => sum + count, 0)).toBe(5)
  })

  test('makes a project, keeps its keys, changes, lists and destroys it', async () => {
    const projects = (...words: string[]) =>
      runCommand(registerProject, ['project', ...words], environment)
    const keys = (...words: string[]) =>
      runCommand(registerKey, ['key', ...words, '--project', 'kept'], environment)
    const made = await projects('create', 'kept', '--retention-days', '30', '--keep')
    expect([made.code, made.out]).toEqual([
      ...[
        0,
        expect.stringMatching(/^project {4}\w+\nwrite key {2}tf_w_\w+\nread key {3}tf_r_\w+\n$/),
      ],
    ])
    const eraser = await keys('create', '--kind', 'read', '--right', 'erase', '--json')
    const { keyId } = JSON.parse(eraser.out) as { keyId: string }
    expect((await keys('list')).out).toMatch(new RegExp(`\n${keyId} +read +erase `))
    expect((await keys('revoke', keyId)).code).toBe(0)
    expect((await keys('list')).out).not.toContain(keyId)
    await projects('update', 'kept', '--time-zone', 'Asia/Tokyo')
    expect((await projects('list')).out).toMatch(/ kept +Asia\/Tokyo +30 /)
    expect((await projects('delete', 'kept', '--yes')).code).toBe(0)
    expect((await projects('list')).out).not.toContain('Asia/Tokyo')
  })

  test('ends with 2 for what is wrongly asked, with 1 for a key that is none', async () => {
    const asked = await Promise.all([
      funnel('a >'),
      funnel('a', '--window', 'long'),
      funnel('a', '--limit', 'many', '--by', 'x'),
      funnel(),
      user('ada', '--limit', '0'),
      user('ada', '--key', 'tf_r_none'),
    ])
    expect(asked.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2, 1])
    expect(asked.map(({ errors }) => errors.trimEnd())).toEqual([
      'INVALID_QUERY: at character 4: expected an event name, found the end',
      'INVALID_QUERY: window: a duration, such as 30m, 12h or 14d',
      expect.stringContaining('a whole number above 0'),
      "error: missing required argument 'steps'",
      expect.stringContaining('limit'),
      'UNAUTHENTICATED: no such key',
    ])
  })

  test('ends well when nobody reads on', async () => {
    const words = ['dist/cli.js', 'funnel', '--help']
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    let errors = ''
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
    expect([(await once(child, 'close'))[0], errors]).toEqual([0, ''])
  })
})
