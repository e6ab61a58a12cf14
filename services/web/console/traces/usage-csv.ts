import type { UsagePage } from './usage-page.ts'
import { groupName } from './usage-page.ts'

const HEAD = [
  'group',
  'calls',
  'errors',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'unpriced_calls',
  'p50_ms',
  'p95_ms',
]

/** The table of usage as CSV (RFC 4180). */
export function usageCsv(view: Pick<UsagePage, 'usage' | 'by' | 'automations'>): string {
  const rows = view.usage.groups.map((group) => [
    groupName(group, view),
    group.calls,
    group.errors,
    group.tokens.input,
    group.tokens.output,
    group.cost_usd,
    group.unpriced,
    group.duration_ms.p50 ?? '',
    group.duration_ms.p95 ?? '',
  ])
  return [HEAD, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}

/** A text that a spreadsheet would take for a formula begins with an apostrophe instead. */
function cell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
