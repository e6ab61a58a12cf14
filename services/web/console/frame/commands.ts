import type { Inputs } from '../../../platform/definitions/input-declarations.ts'
import { shellWord } from '../../../shared/shell-word.ts'

/** A curl command that starts a run, with the token in the variable TOKEN. */
export function kickoffCommand(apiUrl: string, inputs: Inputs): string {
  const body = { inputs }
  return [
    `curl ${shellWord(`${apiUrl}/kickoff`)} \\`,
    '  -H "Authorization: Bearer $TOKEN" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d ${shellWord(JSON.stringify(body))}`,
  ].join('\n')
}

/** A curl command that asks for the status of a run. */
export const statusCommand = (apiUrl: string): string =>
  `curl ${shellWord(`${apiUrl}/status/KICKOFF_ID`)} \\\n  -H "Authorization: Bearer $TOKEN"`

/** A curl command that asks which inputs an automation needs, with the token in it. */
export const inputsCommand = (apiUrl: string, token: string): string =>
  `curl ${shellWord(`${apiUrl}/inputs`)} \\\n  -H ${shellWord(`Authorization: Bearer ${token}`)}`
