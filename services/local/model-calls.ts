import * as v from 'valibot'

const values = v.record(v.string(), v.object({ type: v.optional(v.unknown()) }))

/** A function that the demo model is offered, as chat completions has it. */
export const offeredTool = v.object({
  type: v.literal('function'),
  function: v.object({
    name: v.string(),
    parameters: v.optional(
      v.object({ properties: v.optional(values), required: v.optional(v.array(v.string())) }),
    ),
  }),
})
type OfferedTool = v.InferOutput<typeof offeredTool>

interface Asked {
  readonly text: string
  readonly tools: readonly OfferedTool[]
  /** The names of the tools that have been called. */
  readonly called: ReadonlySet<string>
}

/**
 * Returns the call that the demo model makes next: of the first tool whose name stands in
 * backticks in the prompt and that it has not called. The other texts in backticks become its
 * arguments, in order.
 */
export function nextCall({
  text,
  tools,
  called,
}: Asked): { name: string; arguments: string } | null {
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, each = '']) => each)
  const named = tools.map((tool) => tool.function).filter(({ name }) => quoted.includes(name))
  const next = named.find(({ name }) => !called.has(name))
  if (!next) return null
  const rest = quoted.filter((each) => !named.some(({ name }) => name === each))
  const { properties = {}, required = [] } = next.parameters ?? {}
  const given = required.map((key, index) => [
    key,
    valueOf(rest[index] ?? '', properties[key]?.type),
  ])
  return { name: next.name, arguments: JSON.stringify(Object.fromEntries(given)) }
}

function valueOf(text: string, type: unknown): unknown {
  if (type === 'number' || type === 'integer') return Number(text)
  if (type === 'boolean') return text === 'true'
  if (type === 'array') return [text]
  return type === 'object' ? {} : text
}
