import fc from 'fast-check'
import type {
  LeafField,
  ListField,
  ObjectField,
  Shape,
  StringField,
} from '../../../infra/template/schema.ts'
import { arbitraryPart } from './arbitrary-parts.ts'
import { anyLines } from './arbitrary-texts.ts'
import { isViolated } from '../../../infra/template/item-rules.ts'
import type { ItemRule } from '../../../infra/template/item-rules.ts'

/**
 * Texts that YAML, Go templates, shells or quoting could read as something else, one on each line.
 */
const LINES = String.raw`
yes
on
Null
~
0123
1e3
-.5
-.inf
-_0
+.5
12
1.5
0x1F
=
<<
.inf
2024-01-01
a: b
a #b
q"uote
it's
back\slash
%s%d%%
{{ .Values.x }}
{{
}}
{{- fail "x" }}
$(HOME)
- dash
*star
&amp
!bang
[x]
{y}
@at
|
>
?
:
-
<b>&</b>
é漢🙂
'; drop table spans; --`

const HOSTILE: readonly string[] = LINES.split('\n').concat(
  [
    ' ',
    ' lead',
    'trail ',
    'multi\nline',
    'trail \nnext',
    'tab\t\nnext',
    'a\n  b \n\n\nc',
    ' lead\nnext',
    'next\n ',
    'ends\n',
    '\n',
    '\ttab',
    'a\r\nb',
    '`tick`',
    '$'.concat('{HOME}'),
  ],
  ['\u0001', '\u0007', '\u007f', '\u0085', '\u00a0', '\u200b', '\u2028', '\ufeff'],
)

/** Any text; `fc.string` would first spend a second on learning every character there is. */
const anyText = fc
  .array(fc.integer({ min: 1, max: 0x10_ffff }), { maxLength: 12 })
  .map((codes) => String.fromCodePoint(...codes))
  .filter((text) => !/[\p{Cn}\p{Cs}]/u.test(text))

const hostileText = fc.oneof(fc.constantFrom(...HOSTILE), anyText, anyLines)

/**
 * Any values of a shape; most leaves keep their default now and then, so that conditions fall both
 * ways.
 */
export function arbitraryValues(shape: Shape): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(
    Object.fromEntries(
      Object.entries(shape).map(([key, field]) => [
        key,
        field.kind === 'group' ? arbitraryValues(field.shape) : arbitraryLeaf(field),
      ]),
    ),
  )
}

/** Any value that one field allows. */
function arbitraryLeaf(field: LeafField): fc.Arbitrary<unknown> {
  switch (field.kind) {
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.oneof(fc.constant(field.default), fc.integer({ min: field.min, max: field.max }))
    case 'map':
      return fc.dictionary(
        matching(field.key.pattern).filter(isAllowedBy(field.key)),
        textLike(field.value.pattern),
        { maxKeys: 3 },
      )
    case 'quantity':
      return fc.oneof(fc.constant(field.default ?? '1Gi'), AMOUNTS)
    case 'texts':
      return fc.array(textLike(field.item.pattern).filter(isAllowedBy(field.item)), {
        maxLength: 3,
      })
    case 'object':
      return arbitraryObject(field)
    case 'list':
      return fc.array(arbitraryItem(field), { maxLength: 3 })
    case 'free':
    case 'freeList':
      return arbitraryPart(field)
    case 'string':
      return arbitraryText(field)
  }
}

function arbitraryText(field: StringField): fc.Arbitrary<unknown> {
  if (field.words) return fc.constantFrom(...field.words)
  const digits = field.digits ? [fc.integer(field.digits)] : []
  const text = field.pattern ? textLike(field.pattern).filter(isAllowedBy(field)) : hostileText
  const isDefaultAllowed = field.pattern?.test(field.default) ?? true
  return fc.oneof(isDefaultAllowed ? fc.constant(field.default) : text, text, ...digits)
}

const TEXT_AMOUNTS = ['1', '250m', '0.5', '1.125Gi', '64Mi', '2Gi', '3G', '1Ti', '1500k']
const AMOUNTS = fc.oneof(
  fc.constantFrom(...TEXT_AMOUNTS),
  fc.constantFrom(1, 0.5, 0.001, 1_073_741_824),
)

const objects = new WeakMap<ObjectField, fc.Arbitrary<unknown>>()

/** Fifty of each, made once: they are deep, and making them costs more than using them. */
function arbitraryObject(field: ObjectField): fc.Arbitrary<unknown> {
  const known = objects.get(field) ?? objectsFor(field)
  objects.set(field, known)
  return known
}

function objectsFor(field: ObjectField): fc.Arbitrary<unknown> {
  const samples = fc.sample(arbitraryItem(field), { numRuns: 50, seed: 1 })
  return fc.constantFrom(...(field.required.length > 0 ? samples : [{}, ...samples]))
}

function arbitraryItem({ item, required, rules }: ListField | ObjectField): fc.Arbitrary<unknown> {
  const members = Object.entries(item).map(([key, field]) => {
    if (field.kind === 'group') throw new Error('a list holds no groups')
    // Never a label of the selector beside it, which Kubernetes refuses and no schema can tell.
    const isLabelKeys = key.endsWith('LabelKeys')
    const value = isLabelKeys ? fc.constantFrom([], ['pod-template-hash']) : arbitraryLeaf(field)
    return [key, value] as const
  })
  return fc
    .record(Object.fromEntries(members), { requiredKeys: [...required] })
    .map((random) => obeying(rules, random))
}

/** Bends the members of a map so far that they keep its rules. */
function obeying(rules: readonly ItemRule[], random: object): object {
  const item: Record<string, unknown> = { ...random }
  for (const rule of rules) {
    const { needs } = rule
    const { member } = needs
    if (!isViolated(rule, item)) continue
    if ('among' in needs) item[member] = needs.among[0]
    else if (needs.is === 'absent or empty') delete item[member]
    else item[member] = EXAMPLES[member]
  }
  return item
}

const EXAMPLES: Readonly<Record<string, unknown>> = {
  values: ['1'],
  labelSelector: { matchLabels: { app: 'x' } },
  nodeSelectorTerms: [{}],
  policies: [{ type: 'Percent', value: 50, periodSeconds: 60 }],
}

const isAllowedBy =
  ({ except }: { readonly except?: RegExp }) =>
  (text: string): boolean =>
    !except?.test(text)

const known = new Map<string, fc.Arbitrary<string>>()

/**
 * Texts that a pattern allows: fifty for each, made once, because making them costs more than using
 * them.
 */
function matching(pattern: RegExp): fc.Arbitrary<string> {
  const arbitrary = known.get(pattern.source) ?? textsFor(pattern)
  known.set(pattern.source, arbitrary)
  return arbitrary
}

function textsFor(pattern: RegExp): fc.Arbitrary<string> {
  const texts = fc.stringMatching(new RegExp(pattern.source, 'u'), { maxLength: 96 })
  return fc.constantFrom(...fc.sample(texts, { numRuns: 50, seed: 1 }))
}

/** Hostile texts as far as a pattern lets them through, and texts made for it. */
const textLike = (pattern: RegExp): fc.Arbitrary<string> => {
  const allowed = HOSTILE.filter((text) => pattern.test(text))
  // All that is allowed, or next to nothing of it.
  if (allowed.length === HOSTILE.length)
    return fc.oneof(fc.constantFrom(...allowed), matching(pattern), anyLines)
  return allowed.length > 0
    ? fc.oneof(fc.constantFrom(...allowed), matching(pattern))
    : matching(pattern)
}
