import { LABEL_KEY, LABEL_VALUE } from '../kubernetes-names.ts'
import { integer, list, string, word } from '../template/schema.ts'

/** Tolerations, held to what the API server of Kubernetes asks of them. */
export const tolerations = list(
  'Node taints that the pods tolerate.',
  {
    key: string('', 'Taint key.', LABEL_KEY),
    operator: word(['Exists', 'Equal'], 'Equal', 'How key and value are compared.'),
    value: string('', 'Taint value.', LABEL_VALUE),
    effect: word(['NoSchedule', 'PreferNoSchedule', 'NoExecute'], 'NoSchedule', 'Taint effect.'),
    tolerationSeconds: integer(0, 'How long a NoExecute taint is tolerated.', {
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
  },
  {
    name: 'tolerations',
    rules: [
      {
        where: { member: 'key', is: 'absent or empty' },
        needs: { member: 'operator', among: ['Exists'] },
        message: 'must be Exists where there is no key',
      },
      {
        where: { member: 'operator', among: ['Exists'] },
        needs: { member: 'value', is: 'absent or empty' },
        message: 'must be left out with the operator Exists',
      },
      {
        where: { member: 'tolerationSeconds', is: 'there' },
        needs: { member: 'effect', among: ['NoExecute'] },
        message: 'must be NoExecute with tolerationSeconds',
      },
    ],
    example: [{ key: 'dedicated', operator: 'Equal', value: 'automation', effect: 'NoSchedule' }],
  },
)
