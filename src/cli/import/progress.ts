import { SingleBar } from 'cli-progress'
import type { Clock } from '../../clock.ts'
import type { CommandContext } from '../context.ts'

const LINE_EVERY_MS = 5_000
const SAME_NOTE_EVERY_MS = 5_000

export interface Advance {
  readonly nextLine: number
  readonly accepted: number
}

export type Progress = ReturnType<typeof openProgress>

/**
 * Shows on stderr how far an import is, how fast, and how long it will take: a bar on a terminal,
 * otherwise a line every few seconds. `start` is where it goes on, and does not count for the speed.
 */
export function openProgress(
  context: Pick<CommandContext, 'isTerminal' | 'printError'>,
  clock: Clock,
  { start, lineCount }: { readonly start: Advance; readonly lineCount: number },
) {
  const startedMs = clock.monotonicMs()
  const bar = context.isTerminal ? openBar(lineCount, start.nextLine - 1) : null
  let lineShownMs = startedMs
  let lastNote = { text: '', atMs: -Infinity }

  function figures({ nextLine, accepted }: Advance) {
    const seconds = (clock.monotonicMs() - startedMs) / 1_000
    const linesPerSecond = (nextLine - start.nextLine) / seconds
    const left = (lineCount + 1 - nextLine) / linesPerSecond
    return {
      rate: Math.round((accepted - start.accepted) / seconds),
      left: Number.isFinite(left) ? durationText(left) : '?',
    }
  }

  return {
    show(advance: Advance): void {
      const done = advance.nextLine - 1
      if (bar !== null) {
        bar.update(done, figures(advance))
        return
      }
      const nowMs = clock.monotonicMs()
      if (nowMs - lineShownMs < LINE_EVERY_MS) return
      lineShownMs = nowMs
      const { rate, left } = figures(advance)
      const percent = Math.floor((100 * done) / lineCount)
      context.printError(
        `${percent} %: line ${done} of ${lineCount}, ${rate} events/s, ${left} left`,
      )
    },

    /** Says something once, however many requests have reason to. */
    note(text: string): void {
      const nowMs = clock.monotonicMs()
      if (text === lastNote.text && nowMs - lastNote.atMs < SAME_NOTE_EVERY_MS) return
      lastNote = { text, atMs: nowMs }
      // On a line of its own, above the bar.
      context.printError(bar === null ? text : `\r\u001b[K${text}`)
    },

    close: () => bar?.stop(),
  }
}

function openBar(total: number, done: number): SingleBar {
  const format = '{bar} {percentage} % | line {value} of {total} | {rate} events/s | {left} left'
  const style = { barCompleteChar: '█', barIncompleteChar: '░', barsize: 30 }
  // Ctrl-C is the command's to handle.
  const bar = new SingleBar({ format, ...style, hideCursor: true, gracefulExit: false })
  bar.start(total, done, { rate: 0, left: '?' })
  return bar
}

function durationText(seconds: number): string {
  const whole = Math.ceil(seconds)
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60]
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`
}
