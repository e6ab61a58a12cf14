import type { UsageRow } from './usage-rows.ts'

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
  'traces',
]

/** The table of usage as CSV (RFC 4180). */
export function usageCsv(rows: readonly UsageRow[]): string {
  const values = rows.map((row) => [
    row.name,
    row.calls,
    row.failed,
    row.inputTokens,
    row.outputTokens,
    row.costUsd ?? '',
    row.unpriced,
    row.p50 ?? '',
    row.p95 ?? '',
    row.traces ?? '',
  ])
  return [HEAD, ...values].map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}

/** A text that a spreadsheet would take for a formula begins with an apostrophe instead. */
function cell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
