import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { createSteps, stepFailure } from '../../../services/crew/steps.ts'
import type { ActContext, Step } from '../../../services/crew/steps.ts'
import type {
  CrewEvent,
  RecordedStep,
} from '../../../services/platform/crew-contract/crew-protocol.ts'
import { stepBase, stepKey } from '../../../services/platform/crew-contract/step-key.ts'

const RUN = '00000000-0000-4000-8000-000000000001'
const base = stepBase(1, { topic: 'whales' })
const keyOf = (...path: string[]): string => stepKey(base, path)

/** The steps of an attempt whose events are committed as a test says. */
function attempt({ journal = [] as RecordedStep[], commits = true } = {}) {
  const written: CrewEvent[] = []
  const gone = new AbortController()
  const stop = new AbortController()
  let release = (): void => {}
  const steps = createSteps({
    runId: RUN,
    base,
    journal,
    isJournaled: true,
    channel: {
      write: (event) => written.push(event),
      tell() {},
      committed: () =>
        commits ? Promise.resolve() : new Promise((resolve) => (release = resolve)),
    },
    signal: gone.signal,
    stopping: stop.signal,
  })
  const types = () => written.map(({ type }) => type)
  return { steps, written, types, gone, stop, commit: () => release() }
}

const tool = (...path: string[]): Step<unknown> => ({ kind: 'tool', path, name: 'search' })
const task = (key: string): Step<unknown> => ({ kind: 'task', path: [key], name: key })

describe('a step', () => {
  it('acts after its start is committed, and so is the result of the one before', async () => {
    const { steps, types, commit } = attempt({ commits: false })
    const acted: string[] = []
    const act = (name: string) => async () => acted.push(name)
    const first = steps.perform(tool('a', 'search', '0'), act('first'))
    await Promise.resolve()
    expect([types(), acted]).toEqual([['step_started'], []])
    commit()
    await first
    const second = steps.perform(tool('a', 'search', '1'), act('second'))
    await Promise.resolve()
    expect(types()).toEqual(['step_started', 'step_finished', 'step_started'])
    expect(acted).toEqual(['first'])
    commit()
    await second
    expect(acted).toEqual(['first', 'second'])
  })

  it('is not done again when the journal has its result', async () => {
    const known = { step: keyOf('a', 'search', '0'), kind: 'tool', result: { found: 3 } } as const
    const { steps, written } = attempt({ journal: [known] })
    const act = () => Promise.reject(new Error('acted'))
    expect(await steps.perform(tool('a', 'search', '0'), act)).toEqual({ found: 3 })
    expect(written).toEqual([])
    await expect(steps.perform(tool('a', 'search', '1'), act)).rejects.toThrow('acted')
  })

  it('is done again when the recorded result has another shape', async () => {
    const known = { step: keyOf('a'), kind: 'tool', result: 'old' } as const
    const { steps } = attempt({ journal: [known] })
    const schema = v.object({ found: v.number() })
    const act = async () => ({ found: 4 })
    expect(await steps.perform({ ...tool('a'), schema }, act)).toEqual({ found: 4 })
  })

  it('has the same key and idempotency key in each attempt, and others for others', async () => {
    const contextOf = async (...path: string[]) => {
      const seen: ActContext[] = []
      await attempt().steps.perform(tool(...path), async (context) => seen.push(context))
      return seen[0]
    }
    const [one, same, other] = await Promise.all([
      contextOf('a', '0'),
      contextOf('a', '0'),
      contextOf('a', '1'),
    ])
    expect([one?.step, one?.idempotencyKey]).toEqual([same?.step, same?.idempotencyKey])
    expect(one?.idempotencyKey).not.toBe(other?.idempotencyKey)
    expect(stepBase(1, { a: 1, b: [{ c: 2, d: 3 }] })).toBe(
      stepBase(1, { b: [{ d: 3, c: 2 }], a: 1 }),
    )
    const bases = [stepBase(1, {}), stepBase(2, {}), stepBase(1, { a: 1 }), stepBase(1, { a: '1' })]
    expect(new Set(bases).size).toBe(4)
  })

  it('belongs to the open step around it, which has its tokens too', async () => {
    const { steps, written } = attempt()
    await steps.perform(task('a'), async () => {
      await steps.perform(tool('a', 'search', '0'), async ({ use }) => {
        use({ input_tokens: 3, output_tokens: 2 })
      })
      await steps.perform(tool('a', 'search', '1'), async ({ use }) => {
        use({ input_tokens: 1, output_tokens: 1 })
      })
    })
    const ofTask = written.find(({ type, step }) => type === 'step_finished' && step === keyOf('a'))
    expect(ofTask).toMatchObject({ usage: { input_tokens: 4, output_tokens: 3 } })
    expect(written[1]).toMatchObject({ type: 'step_started', parent: keyOf('a') })
    expect(steps.usage()).toEqual({ input_tokens: 4, output_tokens: 3 })
    const usage = { input_tokens: 4, output_tokens: 3 }
    const later = attempt({ journal: [{ step: keyOf('a'), kind: 'task', result: null, usage }] })
    await later.steps.perform(task('a'), async () => null)
    expect(later.steps.usage()).toEqual(usage)
  })

  it('that fails is recorded with its failure, and nothing unforeseen is told', async () => {
    const { steps, written } = attempt()
    const failure = { code: 'llm_rejected', message: 'The page does not exist.' } as const
    const known = steps.perform(tool('a'), () => Promise.reject(stepFailure(failure)))
    await expect(known).rejects.toThrow('The page does not exist.')
    expect(written.at(-1)).toMatchObject({ type: 'step_failed', step: keyOf('a'), error: failure })
    await expect(
      steps.perform(tool('b'), () => Promise.reject(new Error('sk-secret'))),
    ).rejects.toThrow('sk-secret')
    expect(written.at(-1)).toMatchObject({ type: 'step_failed', error: { code: 'internal' } })
    expect(JSON.stringify(written)).not.toContain('sk-secret')
    const huge = steps.perform(tool('c'), async () => 'x'.repeat(6_000_001))
    await expect(huge).rejects.toMatchObject({ details: { failure: 'result_too_large' } })
    await expect(steps.perform(tool('c'), async () => null)).rejects.toThrow('done twice')
  })

  it('does not start once the run is to be handed over; one that goes on ends', async () => {
    const { steps, types, stop } = attempt()
    let finish = (): void => {}
    const first = steps.perform(tool('a'), () => new Promise<void>((resolve) => (finish = resolve)))
    await expect.poll(types).toEqual(['step_started'])
    stop.abort()
    const second = await steps.perform(tool('b'), async () => 1).catch((thrown: unknown) => thrown)
    expect(steps.isHandOver(second)).toBe(true)
    let isSettled = false
    const settled = steps.settle().then(() => (isSettled = true))
    expect(isSettled).toBe(false)
    await expect.poll(() => (finish(), types())).toEqual(['step_started', 'step_finished'])
    await Promise.all([first, settled])
  })

  it('raises the reason when nobody listens any more, and records nothing', async () => {
    const { steps, types, gone } = attempt()
    const act = ({ signal }: ActContext) => {
      gone.abort(new Error('the worker is gone'))
      return Promise.reject(signal.reason as Error)
    }
    await expect(steps.perform(tool('a'), act)).rejects.toThrow('the worker is gone')
    await expect(steps.perform(tool('b'), async () => 1)).rejects.toThrow('the worker is gone')
    expect(types()).toEqual(['step_started'])
  })
})
