import { LABEL_KEY, LABEL_VALUE, NAMESPACE, OBJECT_NAME } from '../kubernetes-names.ts'
import { integer, list, map, object, string, texts, word } from '../template/schema.ts'
import type { ItemRule } from '../template/item-rules.ts'

// As every supported version of Kubernetes, from 1.30 on, knows it.

const SETS: readonly ItemRule[] = [
  {
    where: { member: 'operator', among: ['In', 'NotIn'] },
    needs: { member: 'values', is: 'not empty' },
    message: 'is required with the operators In and NotIn',
  },
  {
    where: { member: 'operator', among: ['Exists', 'DoesNotExist'] },
    needs: { member: 'values', is: 'absent or empty' },
    message: 'must be left out with the operators Exists and DoesNotExist',
  },
]

const labelExpressions = list(
  'Requirements on labels.',
  {
    key: string('', 'Label.', LABEL_KEY),
    operator: word(['In', 'NotIn', 'Exists', 'DoesNotExist'], 'In', 'How it is compared.'),
    values: texts('With what.', LABEL_VALUE),
  },
  { required: ['key', 'operator'], rules: SETS },
)

const labelSelector = (doc: string) =>
  object(doc, {
    matchLabels: map('Labels that must be equal.', { key: LABEL_KEY, value: LABEL_VALUE }),
    matchExpressions: labelExpressions,
  })

const nodeTerm = {
  matchExpressions: list(
    'Requirements on the labels of a node.',
    {
      key: string('', 'Label.', LABEL_KEY),
      operator: word(
        ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'],
        'In',
        'How it is compared.',
      ),
      values: texts('With what; one whole number for Gt and Lt.', LABEL_VALUE),
    },
    {
      required: ['key', 'operator'],
      rules: [
        ...SETS,
        {
          where: { member: 'operator', among: ['Gt', 'Lt'] },
          needs: { member: 'values', is: 'one' },
          message: 'must be one whole number with the operators Gt and Lt',
        },
      ],
    },
  ),
  matchFields: list(
    'Requirements on the fields of a node.',
    {
      key: word(['metadata.name'], 'metadata.name', 'Field.'),
      operator: word(['In', 'NotIn'], 'In', 'How it is compared.'),
      values: texts('With what; one name.', OBJECT_NAME),
    },
    {
      required: ['key', 'operator', 'values'],
      rules: [
        {
          where: { member: 'key', is: 'there' },
          needs: { member: 'values', is: 'one' },
          message: 'must be one name',
        },
      ],
    },
  ),
}

const weight = integer(1, 'How much it counts.', { min: 1, max: 100 })

/** A selector beside the keys of labels. */
export const withSelector = (member: string): ItemRule => ({
  where: { member, is: 'not empty' },
  needs: { member: 'labelSelector', is: 'there' },
  message: `is required with ${member}`,
})

const podTerm = {
  labelSelector: labelSelector('The pods that it is about.'),
  topologyKey: string('', 'Node label that names the place.', LABEL_KEY),
  namespaces: texts('Namespaces of those pods.', NAMESPACE),
  namespaceSelector: labelSelector('Namespaces of those pods, by their labels.'),
  matchLabelKeys: texts('Labels that those pods share with this one.', LABEL_KEY),
  mismatchLabelKeys: texts('Labels in which those pods differ from this one.', LABEL_KEY),
}

const podTermOptions = {
  required: ['topologyKey'],
  rules: [
    withSelector('matchLabelKeys'),
    withSelector('mismatchLabelKeys'),
    // Kubernetes refuses a key that is in both, which no schema can express.
    {
      where: { member: 'matchLabelKeys', is: 'not empty' },
      needs: { member: 'mismatchLabelKeys', is: 'absent or empty' },
      message: 'must be left out with matchLabelKeys; write a term for each',
    },
  ],
} as const

const podRules = (doc: string) =>
  object(doc, {
    requiredDuringSchedulingIgnoredDuringExecution: list(
      'What must hold.',
      podTerm,
      podTermOptions,
    ),
    preferredDuringSchedulingIgnoredDuringExecution: list(
      'What is preferred.',
      { weight, podAffinityTerm: object('What.', podTerm, podTermOptions) },
      { required: ['weight', 'podAffinityTerm'] },
    ),
  })

/** Affinity, held to what the API server of Kubernetes asks of it. */
export const affinity = object(
  'Affinity of the pods, as in a pod specification.',
  {
    nodeAffinity: object('Nodes on which the pods run.', {
      requiredDuringSchedulingIgnoredDuringExecution: object(
        'What must hold.',
        { nodeSelectorTerms: list('Of which one holds.', nodeTerm) },
        {
          required: ['nodeSelectorTerms'],
          rules: [
            {
              where: { member: 'nodeSelectorTerms', is: 'there' },
              needs: { member: 'nodeSelectorTerms', is: 'not empty' },
              message: 'must have at least one term',
            },
          ],
        },
      ),
      preferredDuringSchedulingIgnoredDuringExecution: list(
        'What is preferred.',
        { weight, preference: object('What.', nodeTerm) },
        { required: ['weight', 'preference'] },
      ),
    }),
    podAffinity: podRules('Pods beside which the pods run.'),
    podAntiAffinity: podRules('Pods beside which the pods do not run.'),
  },
  {
    name: 'affinity',
    example: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] },
          ],
        },
      },
    },
  },
)
