import type { Answer } from './report.ts'
import { codeOf } from './report.ts'

/** The report is not for polling: so much lies between two of them. */
const REPORTS_PAUSE_MS = 10_000
/** `/health` is. */
const HEALTH_PAUSE_MS = 2000

/** The outside of the program, for tests. */
export interface Surroundings {
  /** Says to people how things go. */
  readonly say: (text: string) => void
  readonly sleep: (ms: number) => Promise<void>
  /** Asks a person yes or no; absent where there is no terminal. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined
  /** Milliseconds since any moment. */
  readonly now: () => number
}

/** What is asked again and again. */
export interface Waiting {
  readonly waitMs: number
  /** Asks for the reports. */
  readonly ask: () => Promise<readonly Answer[]>
  /** Says why a report is not worth asking for yet; undefined if it is. Cheap. */
  readonly findObstacle?: () => Promise<string | undefined>
}

/**
 * Asks until all reports are ok or the time is over; returns the last reports. Says each state that
 * is a new one.
 */
export async function waitUntilOk(
  { waitMs, ask, findObstacle = async () => undefined }: Waiting,
  { say, sleep, now }: Surroundings,
): Promise<readonly Answer[]> {
  const started = now()
  const left = (): number => waitMs - (now() - started)
  let said = ''
  const tell = (state: string): void => {
    if (state === said) return
    const seconds = Math.round((now() - started) / 1000)
    say(`waiting (${seconds} s of ${waitMs / 1000} s): ${state}\n`)
    said = state
  }
  for (;;) {
    const obstacle = await findObstacle()
    if (obstacle === undefined || left() <= 0) {
      const answers = await ask()
      if (left() <= 0 || answers.every(({ report }) => report?.status === 'ok')) return answers
      tell(answers.map(describe).join('; '))
      await sleep(Math.min(REPORTS_PAUSE_MS, left()))
    } else {
      tell(obstacle)
      await sleep(Math.min(HEALTH_PAUSE_MS, left()))
    }
  }
}

function describe({ url, report, problem }: Answer): string {
  if (!report) return `${url}: ${problem}`
  const failed = Object.entries(report.components).flatMap(([name, component]) =>
    component.status === 'fail' ? [`${name} (${codeOf(component) ?? 'fail'})`] : [],
  )
  return `${report.status}: ${failed.join(', ')}`
}
