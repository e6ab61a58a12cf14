import type { Json } from './json.ts'

/** Amounts that both readings compare exactly: at most twelve digits and three decimals. */
export const QUANTITY = /^([0-9]{1,12}m|[0-9]{1,12}(\.[0-9]{1,3})?([kMGTPE]|[KMGTPE]i)?)$/

/** Amounts of zero. */
export const ZERO = /^[0.]+[A-Za-z]*$/

/** The bounds of an amount that is written as a number. */
export const [LEAST, MOST] = [0.001, 1e15]

const LETTERS = 'KMGTPE'

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['', 1000n],
  ['m', 1n],
  ['k', 1000n ** 2n],
  ...Array.from(LETTERS).flatMap((letter, index): [string, bigint][] => [
    ...(index > 0 ? [[letter, 1000n ** BigInt(index + 2)] as [string, bigint]] : []),
    [`${letter}i`, 1000n * 1024n ** BigInt(index + 1)],
  ]),
])

/** Tells whether an amount is above another one; false while one of them is missing. */
export const isMore = (amount: Json, than: Json): boolean =>
  amount !== null && than !== null && parts(amount) > parts(than)

/** An amount as a whole number of parts so small that none is lost. */
function parts(amount: Json): bigint {
  const [, digits = '0', decimals = '', unit = ''] =
    /^([0-9]+)(?:\.([0-9]+))?([a-zA-Z]*)$/.exec(JSON.stringify(amount).replaceAll('"', '')) ?? []
  const scaled = BigInt(digits + decimals.padEnd(SCALE, '0').slice(0, SCALE))
  return scaled * (UNITS.get(unit) ?? 0n)
}

const SCALE = 18

const TEMPLATE_UNITS = [
  '"m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576',
  '"Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976',
].join(' ')

const TEMPLATE_PRODUCT = [
  '(regexFind "^[0-9.]+" . | float64)',
  '(get $units (regexFind "[A-Za-z]+$" .) | default 1)',
].join(' ')

/** The same comparison as a template, of a list of two; its text is empty unless it holds. */
export const isMoreTemplate = `{{- define "quantity.isMore" -}}
{{- $units := dict ${TEMPLATE_UNITS} }}
{{- $amounts := list }}
{{- range . }}
{{- if kindIs "string" . }}
{{- $amounts = append $amounts (mulf ${TEMPLATE_PRODUCT}) }}
{{- else if . }}
{{- $amounts = append $amounts (float64 .) }}
{{- end }}
{{- end }}
{{- if eq (len $amounts) 2 }}
{{- if gt (index $amounts 0) (index $amounts 1) }}true{{ end }}
{{- end }}
{{- end }}
`
