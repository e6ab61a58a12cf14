import { OBJECT_NAME } from '../kubernetes-names.ts'
import { freeList } from '../template/free.ts'
import { boolean, group, list, string } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** Settings of the organization as documents. */
export const configuration = group(
  'Settings of the first organization as documents, such as its LLM connections and webhooks. A ' +
    'Job applies them after each install and upgrade.',
  {
    resources: freeList<ResourceDocument>(
      'The documents. Secrets are references: `{env: KEY}` names a key of `configuration.secrets`.',
      {
        type: 'object',
        name: 'ResourceDocument',
        demands: {
          kind: {
            pattern: /^[a-z][a-z_]{0,62}$/,
            expected: 'a kind such as "llm_connection"',
          },
          name: { pattern: /^[^\n]+$/, expected: 'the name of the row, a text of one line' },
        },
        example: [
          {
            kind: 'llm_connection',
            name: 'Team gateway',
            spec: { provider: 'openai', model: 'gpt-5.4-mini', api_key: { env: 'MODEL_KEY' } },
          },
        ],
      },
    ),
    existingConfigMap: type.objectName(
      'ConfigMap of yours with more documents: each key that ends in `.yaml`, `.yml` or `.json` ' +
        'is a file of them. Empty means none.',
    ),
    secrets: list(
      'Secrets of your own that documents name keys of.',
      { name: string('', 'Name of the Secret.', OBJECT_NAME) },
      { required: ['name'], example: [{ name: 'model-keys' }] },
    ),
    prune: boolean(
      false,
      'Delete what an earlier upgrade made and no document has any more, of the kinds that the ' +
        'documents still have. What people made stays.',
    ),
  },
)

interface ResourceDocument {
  readonly kind: string
  readonly name: string
  readonly [key: string]: unknown
}
