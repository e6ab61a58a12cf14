import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLlm } from '../../../services/shared/models/llm.ts'
import type { LlmCall } from '../../../services/shared/models/llm-call.ts'
import { formatOf } from '../../../services/crew/task/output.ts'
import type { JsonSchema } from '../../../services/shared/json-schema.ts'
import { refuses, says, startFakeModel } from './fake-model.ts'
import type { FakeModel } from './fake-model.ts'

let model: FakeModel

beforeAll(async () => {
  model = await startFakeModel()
})

beforeEach(() => {
  model.requests.length = 0
})

afterAll(() => model.stop())

const schema = { type: 'object', properties: { a: { type: 'string' } } }
const call: LlmCall = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hello' }],
  response_format: formatOf(schema),
}

function complete(given = call) {
  const llm = createLlm({ baseUrl: model.baseUrl, timeoutMs: 5000, backoffMs: 1 })
  return llm.complete(given, new AbortController().signal)
}

const formats = () => model.requests.map(({ body }) => body['response_format'])

describe('a provider that takes no schema', () => {
  it.each([
    [400, 'Unknown parameter: response_format'],
    [400, "'json_schema' is not one of json_object, text"],
    [422, 'This response format is unavailable now'],
  ])('is asked again without it after %s: %s', async (status, message) => {
    model.play(refuses(status, message), says('{}'))
    expect(await complete()).toMatchObject({ ok: true, text: '{}', attempts: 2 })
    expect(formats()).toEqual([call.response_format, undefined])
  })

  it('is not asked again for another reason, nor a second time', async () => {
    model.play(refuses(400, 'too many tokens'))
    expect(await complete()).toMatchObject({ ok: false, attempts: 1 })
    const { response_format: _format, ...plain } = call
    model.play(refuses(400, 'response_format'))
    expect(await complete()).toMatchObject({ ok: false, attempts: 2 })
    expect(await complete(plain)).toMatchObject({ ok: false, attempts: 1 })
  })
})

describe('the format of an answer', () => {
  const closed = { ...schema, required: ['a'], additionalProperties: false }
  it.each<[JsonSchema, boolean]>([
    [schema, false],
    [closed, true],
    [{ ...closed, required: [] }, false],
    [{ ...closed, properties: { a: { type: 'string', minLength: 1 } } }, false],
    [{ ...closed, properties: { a: closed } }, true],
    [{ ...closed, properties: { a: { type: 'array', items: schema } } }, false],
    [{ ...closed, $defs: { b: schema } }, false],
    [{ type: 'string' }, false],
  ])('is strict where providers can guarantee it: %j', (given, strict) => {
    expect(formatOf(given).json_schema).toEqual({ name: 'output', schema: given, strict })
  })
})
