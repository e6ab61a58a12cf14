import { html } from 'hono/html'
import type { LlmUsage } from '../../../../platform/connections/llm-usage.ts'
import type { Html } from '../../../console/frame/parts.ts'

/** An LLM connection, with its use by runs of this pod. */
export interface UsedConnection {
  readonly connection: { readonly id: number; readonly provider: string }
  readonly usage: LlmUsage
}

/** The variables that a connection lacks (SPEC 2.4). */
export interface MissingCredentials {
  readonly connection_id: number
  readonly provider: string
  /** One variable for each requirement that is not met. */
  readonly missing: readonly string[]
  /** All variables of a requirement, where any one of several would do. */
  readonly any_of?: readonly (readonly string[])[]
}

/** Lists the connections that lack a variable. */
export const findMissing = (used: readonly UsedConnection[]): MissingCredentials[] =>
  used.flatMap(({ connection: { id, provider }, usage }) => {
    if (usage.missing.length === 0) return []
    const anyOf = usage.missing.filter((group) => group.length > 1)
    return [
      {
        connection_id: id,
        provider,
        missing: usage.missing.map(([first = '']) => first),
        ...(anyOf.length > 0 ? { any_of: anyOf } : {}),
      },
    ]
  })

/** The list of missing variables on the page. */
export function missingList(rows: readonly MissingCredentials[]): Html | string {
  if (rows.length === 0) return ''
  return html`<ul class="plan">
    ${rows.map(
      ({ connection_id, provider, missing, any_of = [] }) =>
        html`<li>
          Connection ${connection_id} (${provider}) lacks
          ${missing.map((name, index) => html`${index > 0 ? ', ' : ''}<code>${name}</code>`)}
          ${any_of.map(
            (names) => html`<span class="sub">One of ${names.join(', ')} will do.</span>`,
          )}
        </li>`,
    )}
  </ul>`
}
