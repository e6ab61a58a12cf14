import fc from 'fast-check'
import type { LeafField, ListField, Shape, StringField } from '../../../infra/template/schema.ts'

/** Texts that YAML, Go templates, shells or quoting could read as something else, one on each line. */
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

const hostileText = fc.oneof(fc.constantFrom(...HOSTILE), anyText)

/** Any values of a shape; most leaves keep their default now and then, so that conditions fall both ways. */
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
export function arbitraryLeaf(field: LeafField): fc.Arbitrary<unknown> {
  switch (field.kind) {
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.oneof(fc.constant(field.default), fc.integer({ min: field.min, max: field.max }))
    case 'map':
      return fc.dictionary(
        matching(field.key.pattern).filter((key) => !field.key.except?.test(key)),
        textLike(field.value.pattern),
        { maxKeys: 3 },
      )
    case 'object':
      return fc.constantFrom({}, ...AFFINITIES)
    case 'list':
      return fc.array(arbitraryItem(field), { maxLength: 3 })
    case 'string':
      return arbitraryText(field)
  }
}

function arbitraryText(field: StringField): fc.Arbitrary<unknown> {
  if (field.words) return fc.constantFrom(...field.words)
  const digits = field.digits ? [fc.integer(field.digits)] : []
  const text = field.pattern ? textLike(field.pattern) : hostileText
  const isDefaultAllowed = field.pattern?.test(field.default) ?? true
  return fc.oneof(isDefaultAllowed ? fc.constant(field.default) : text, text, ...digits)
}

/** What Kubernetes itself defines, from which its own validation takes over. */
const AFFINITIES = [
  {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'x' } } },
      ],
    },
  },
  {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          preference: {
            matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd', 'no'] }],
          },
        },
      ],
    },
  },
]

function arbitraryItem({ item, required }: ListField): fc.Arbitrary<unknown> {
  const members = Object.entries(item).map(([key, field]) => {
    if (field.kind === 'group') throw new Error('a list holds no groups')
    return [key, arbitraryLeaf(field)] as const
  })
  return fc.record(Object.fromEntries(members), { requiredKeys: [...required] })
}

const known = new Map<string, fc.Arbitrary<string>>()

/** Texts that a pattern allows: fifty for each, made once, because making them costs more than using them. */
function matching(pattern: RegExp): fc.Arbitrary<string> {
  const arbitrary = known.get(pattern.source) ?? textsFor(pattern)
  known.set(pattern.source, arbitrary)
  return arbitrary
}

function textsFor(pattern: RegExp): fc.Arbitrary<string> {
  const texts = fc.stringMatching(new RegExp(pattern.source, 'u'), { maxLength: 72 })
  return fc.constantFrom(...fc.sample(texts, { numRuns: 50, seed: 1 }))
}

/** Hostile texts as far as a pattern lets them through, and texts made for it. */
const textLike = (pattern: RegExp): fc.Arbitrary<string> => {
  const allowed = HOSTILE.filter((text) => pattern.test(text))
  return allowed.length > 0
    ? fc.oneof(fc.constantFrom(...allowed), matching(pattern))
    : matching(pattern)
}
