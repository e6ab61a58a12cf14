import { ANY_TEXT, LABEL_VALUE, OBJECT_NAME, OWN_KEY } from '../kubernetes-names.ts'
import { freeList } from '../template/free.ts'
import { map, string } from '../template/schema.ts'

const WORD = { pattern: /^[A-Za-z0-9][A-Za-z0-9./-]*$/, expected: 'a word such as "apps/v1"' }

/** What holds for all objects, and the operator's own ones. */
export const objects = {
  fullnameOverride: string(
    '',
    'What the names of all objects begin with. Empty means the name of the release, ' +
      'shortened where it has more than 40 characters.',
    {
      pattern: /^([a-z]([a-z0-9-]{0,38}[a-z0-9])?)?$/,
      expected: 'a letter followed by up to 39 lower-case letters, digits and dashes, or ""',
    },
  ),
  nameOverride: string(
    '',
    'What follows the name of the release in the names of all objects, as in ' +
      '`<release>-<nameOverride>-web`. Without effect beside `fullnameOverride`.',
    {
      pattern: /^([a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?)?$/,
      expected: 'up to 40 lower-case letters, digits and dashes, or ""',
    },
  ),
  commonLabels: map('Labels of all objects and of their pods. Selectors never have them.', {
    key: OWN_KEY,
    value: LABEL_VALUE,
    example: { 'cost-center': '4711' },
  }),
  commonAnnotations: map(
    'Annotations of all objects; `podAnnotations` of a component are those of its pods.',
    { key: OWN_KEY, value: ANY_TEXT, example: { 'example.com/owner': 'team automation' } },
  ),
  extraObjects: freeList<ExtraObject>(
    'Objects of your own that come and go with the release, as they are given: name the ' +
      'namespace of each, unless Helm applies them.',
    {
      type: 'object',
      demands: { apiVersion: WORD, kind: WORD, 'metadata.name': OBJECT_NAME },
      example: [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'my-files', namespace: 'platform' },
          data: { 'greeting.txt': 'Hello' },
        },
      ],
    },
  ),
} as const

interface ExtraObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly [key: string]: unknown }
  readonly [key: string]: unknown
}
