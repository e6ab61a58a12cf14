import type { JSONValue } from 'json-p3'
import { callBounded, isOverdue } from '../../shared/bounded-call.ts'
import { toError } from '../../shared/errors.ts'
import { readPath } from '../../shared/json-path.ts'
import { answer, cutResult, toolError } from './tool.ts'
import type { CrewTool } from './tool.ts'

const QUERY_MS = 1000
const FOUND_MAX = 1000

/** Creates the tool that takes values out of JSON. */
export const createJsonQuery = (name: string): CrewTool => ({
  name,
  key: name,
  type: 'json_query',
  description:
    'Takes values out of JSON by a JSONPath (RFC 9535), such as ' +
    '$.items[?@.price < 10].name, and returns a JSON list of what it finds.',
  parameters: {
    type: 'object',
    properties: {
      json: { type: 'string', description: 'The JSON, as text' },
      path: { type: 'string', description: 'The JSONPath', maxLength: 1000 },
    },
    required: ['json', 'path'],
    additionalProperties: false,
  },
  timeoutMs: 2000,
  async call({ arguments: { json, path } }) {
    const found = queryJson(parse(String(json)), String(path))
    const note = found.length > FOUND_MAX ? `\n(Only the first ${FOUND_MAX} are shown.)` : ''
    return answer(cutResult(JSON.stringify(found.slice(0, FOUND_MAX))) + note)
  },
})

/** Returns the values at a JSONPath, 1001 at most. Raises an error for a bad or slow path. */
export function queryJson(json: JSONValue, path: string): JSONValue[] {
  try {
    return callBounded(QUERY_MS, () => {
      const found: JSONValue[] = []
      for (const { value } of readPath(path).lazyQuery(json)) {
        if (found.push(value) > FOUND_MAX) break
      }
      return found
    })
  } catch (thrown) {
    if (isOverdue(thrown))
      throw toolError(`The path takes longer than ${QUERY_MS} ms. Use a simpler one.`)
    throw toolError(`The path cannot be used: ${toError(thrown).message}.`)
  }
}

function parse(text: string): JSONValue {
  try {
    return JSON.parse(text) as JSONValue
  } catch (thrown) {
    throw toolError(`json is not valid JSON: ${toError(thrown).message}.`)
  }
}
