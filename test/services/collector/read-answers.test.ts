import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as lists from '../../../services/shared/trace-answers/lists.ts'
import {
  searchPage,
  skeleton,
  SKELETON_COLUMNS,
  spanView,
} from '../../../services/shared/trace-answers/one-trace.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import { ask } from './support/reading.ts'

const call = spanOf({
  name: 'chat gpt-4o',
  attributes: [
    textAttribute('gen_ai.operation.name', 'chat'),
    textAttribute('gen_ai.request.model', 'gpt-4o'),
    textAttribute('session.id', 'of-ann'),
    textAttribute('user.id', 'ann'),
    textAttribute('gen_ai.prompt.0.content', 'How warm is it?'),
    textAttribute('gen_ai.completion.0.content', 'Quite warm.'),
    { key: 'gen_ai.usage.input_tokens', value: { intValue: 12 } },
  ],
})
const place = `/traces/${call.traceId}`

/** Each answer as the contract has it; of the last one, what was sent is in OTLP's own form. */
const ANSWERS: readonly (readonly [name: string, path: string, schema: v.GenericSchema])[] = [
  ['a list of traces', '/traces', lists.tracePage],
  ['a list with texts', '/traces?excerpts=100&text=warm', lists.tracePage],
  ['a histogram', '/traces/histogram', lists.histogram],
  ['totals', '/traces/totals', lists.totals],
  ['totals by day', '/traces/totals?by=day', lists.groupedTotals],
  ['totals by user', '/traces/totals?by=user', lists.groupedTotals],
  ['a list of sessions', '/sessions', lists.sessionPage],
  ['calls', '/usage', lists.usage],
  ['calls in groups', '/usage?by=hour,organization,crew,model', lists.usage],
  ['a summary', `${place}?view=summary`, lists.traceSummary],
  ['a skeleton', `${place}?view=skeleton`, skeleton],
  ['a search in a trace', `${place}/search?q=warm`, searchPage],
  ['a span', `${place}/spans/${call.spanId}`, v.omit(spanView, ['span', 'resource', 'scope'])],
]

describe('the answers of the read API', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
    expect((await harness.post(toProtobuf(requestOf(call)))).status).toBe(200)
    await harness.rolledUp()
    await harness.extracted()
  })
  afterAll(() => harness.stop())

  it.each(ANSWERS)('have what the contract says and no more: %s', async (_name, path, schema) => {
    const response = await ask(harness, `/api${path}`)
    const answer = (await response.json()) as Record<string, unknown>
    expect(response.status).toBe(200)
    const { span: _, resource: __, scope: ___, ...own } = answer
    expect(v.parse(schema, own)).toEqual(own)
  })

  it('have a list that is not empty wherever there is one', async () => {
    for (const [, path] of ANSWERS) {
      const answer = await (await ask(harness, `/api${path}`)).json()
      for (const list of Object.values(Object(answer)).filter(Array.isArray))
        expect(list).not.toEqual([])
    }
  })

  it('name the columns of a skeleton in the order of the contract', async () => {
    const answer = await (await ask(harness, `/api${place}?view=skeleton`)).json()
    expect(answer).toMatchObject({ columns: SKELETON_COLUMNS })
    expect(answer).toHaveProperty('spans.0.length', SKELETON_COLUMNS.length)
  })
})
