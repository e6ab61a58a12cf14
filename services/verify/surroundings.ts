import * as v from 'valibot'
import { FILES_CAPABILITY } from '../platform/crew-contract/kickoff-files.ts'
import { crewDescription } from '../platform/crew-contract/crew-description.ts'
import {
  CONTRACT,
  JOURNAL_CAPABILITY,
  REPLAY_CAPABILITY,
} from '../platform/crew-contract/crew-protocol.ts'
import { deadline } from '../shared/deadline.ts'
import { AppError, toError } from '../shared/errors.ts'
import { readBounded } from '../shared/http/read-bounded.ts'
import { attemptRun } from './attempt.ts'
import type { Behaviour } from './attempt.ts'
import type { VerifyOptions } from './options.ts'

const ANSWER_MS = 5000
const BYTES_MAX = 65_536

/** The answer of a crew to one question. */
interface Said {
  readonly status: number
  readonly text: string
}

async function ask(url: string): Promise<Said> {
  return deadline({ name: new URL(url).pathname, timeoutMs: ANSWER_MS }, async (signal) => {
    const response = await fetch(url, { signal, redirect: 'manual' })
    const text = await readBounded(response, BYTES_MAX)
    if (text === undefined) throw new Error(`the answer has more than ${BYTES_MAX} bytes`)
    return { status: response.status, text }
  })
}

/** Asks whether the crew takes runs. Raises an error when nothing answers at its address. */
export async function checkHealth({ url }: VerifyOptions): Promise<string[]> {
  const { status } = await ask(`${url}/health`)
  return status === 200
    ? []
    : [`GET /health answers HTTP ${status}: 200 is asked for while it takes runs.`]
}

/** What a crew says of itself, and what is wrong with that. */
interface Description {
  readonly isJournaled: boolean
  readonly takesFiles: boolean
  readonly replays: boolean
  readonly problems: readonly string[]
  readonly note: string
}

const NOTHING = { isJournaled: false, takesFiles: false, replays: false }

/** Asks the crew what it can do. */
export async function checkDescription({ url }: VerifyOptions): Promise<Description> {
  const { status, text } = await ask(`${url}/describe`)
  if (status !== 200) {
    const note = `GET /describe answers HTTP ${status}: the crew counts as one of contract 1.`
    return { ...NOTHING, problems: [], note }
  }
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), crewDescription), text)
  if (!parsed.success) {
    const problem =
      'GET /describe is no description. Asked for: ' +
      `{"contract": ${CONTRACT}, "name": "…", "capabilities": ["${JOURNAL_CAPABILITY}"]}.`
    return { ...NOTHING, problems: [problem], note: '' }
  }
  const { contract, name, capabilities } = parsed.output
  const isJournaled = contract >= 2 && capabilities.includes(JOURNAL_CAPABILITY)
  const able = capabilities.length === 0 ? 'no capabilities' : capabilities.join(', ')
  const takesFiles = capabilities.includes(FILES_CAPABILITY)
  const replays = isJournaled && capabilities.includes(REPLAY_CAPABILITY)
  const note = `${name}, contract ${contract}, ${able}`
  return { isJournaled, takesFiles, replays, problems: [], note }
}

const inputList = v.object({ inputs: v.array(v.string()) })

/** The inputs of the runs: those given, else a word for each that the crew asks for. */
export async function chooseInputs({ url, inputs }: VerifyOptions) {
  if (inputs) return { inputs, problems: [] }
  const { status, text } = await ask(`${url}/inputs`)
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), inputList), text)
  if (status === 200 && parsed.success) {
    const entries = parsed.output.inputs.map((name) => [name, 'bees'] as const)
    return { inputs: Object.fromEntries<unknown>(entries), problems: [] }
  }
  const problem =
    `GET /inputs answers HTTP ${status}${status === 200 ? ' with something else' : ''}: ` +
    '{"inputs": ["…"]} is asked for, with the names of what it needs. Or pass --inputs.'
  return { inputs: {}, problems: [problem] }
}

/** Checks that the crew runs nothing for strangers, and nothing that is no kickoff. */
export async function checkRefusals(behaviour: Behaviour): Promise<string[]> {
  const leaving: Behaviour = { ...behaviour, hear: (_, { leave }) => leave() }
  const stranger = await attemptRun({ ...leaving, token: 'of-a-stranger' })
  const broken = await attemptRun({ ...leaving, kickoff: '{"kickoff_id": ' })
  const says = (status: number): string => (status === 0 ? 'nothing' : `HTTP ${status}`)
  return [
    ...(stranger.status === 401
      ? []
      : [`With a wrong token, /kickoff answers ${says(stranger.status)}: 401 is asked for.`]),
    ...(broken.status >= 400 && broken.status < 500 && broken.status !== 401
      ? []
      : [
          `A kickoff that is no JSON gets ${says(broken.status)}: 400 or another 4xx is asked ` +
            'for, and an answer in application/problem+json with a "message".',
        ]),
  ]
}

/** Why a question to the crew has no answer. */
export function explain(thrown: unknown): string {
  if (thrown instanceof AppError) return thrown.message
  const error = toError(thrown)
  return error.cause instanceof Error ? error.cause.message : error.message
}
