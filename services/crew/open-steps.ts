import type { StepUsage } from '../platform/crew-contract/crew-protocol.ts'

/** An act that goes on, with the tokens that it and its parts have used. */
export interface OpenStep {
  readonly key: string
  readonly path: readonly string[]
  readonly usage: { -readonly [Kind in keyof StepUsage]: StepUsage[Kind] }
}

/** Follows the acts that go on: which is a part of which, and what they use. */
export function trackOpenSteps() {
  const open = new Set<OpenStep>()
  const total = noTokens()
  let settled = (): void => {}

  const around = (path: readonly string[]): OpenStep[] =>
    [...open].filter((each) => each.path.every((key, index) => key === path[index]))

  return {
    enter(key: string, path: readonly string[]): OpenStep {
      const step = { key, path, usage: noTokens() }
      open.add(step)
      return step
    },
    leave(step: OpenStep): void {
      open.delete(step)
      if (open.size === 0) settled()
    },
    /** The key of the open step with the longest path that this one begins with. */
    parentOf: (path: readonly string[]): string | undefined =>
      around(path).toSorted((a, b) => b.path.length - a.path.length)[0]?.key,
    use(path: readonly string[], usage: StepUsage): void {
      const sums = around(path)
      for (const sum of [total, ...sums.map((each) => each.usage)]) add(sum, usage)
      const own = sums.find((each) => each.path.length === path.length)
      if (own && usage.service_tier !== undefined) own.usage.service_tier = usage.service_tier
    },
    usage: (): StepUsage => ({ ...total }),
    /** Waits until no act goes on. */
    async settle(): Promise<void> {
      if (open.size > 0) await new Promise<void>((resolve) => (settled = resolve))
    },
  }
}

const noTokens = (): OpenStep['usage'] => ({ input_tokens: 0, output_tokens: 0 })

function add(sum: OpenStep['usage'], more: StepUsage): void {
  sum.input_tokens += more.input_tokens
  sum.output_tokens += more.output_tokens
  const cached = (sum.cached_input_tokens ?? 0) + (more.cached_input_tokens ?? 0)
  if (cached > 0) sum.cached_input_tokens = cached
}
