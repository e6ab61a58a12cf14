import * as v from 'valibot'
import type { ClaimedMembership } from '../../../platform/people/claimed-memberships.ts'
import { readOrganizationRole } from '../../../platform/people/memberships.ts'

const RULES_MAX = 500
const RULE = /^(?<group>\S.*?)\s*->\s*(?<organization>\S.*?)\s*:\s*(?<role>[a-z]+)$/

/** A group of the identity provider, and the membership that it gives. */
interface GroupRule extends ClaimedMembership {
  readonly group: string
}

/** Rules such as `crew-admins -> Acme: admin`, with semicolons or line breaks between them. */
export const groupRules = () =>
  v.pipe(
    v.string(),
    v.transform((text) => text.split(/[;\n]/).map((each) => each.trim())),
    v.transform((lines) => lines.filter((each) => each !== '')),
    v.maxLength(RULES_MAX, `must have at most ${RULES_MAX} rules`),
    v.check(
      (lines) => lines.every((line) => readRule(line) !== undefined),
      'must be rules such as "crew-admins -> Acme: admin", with semicolons between them; roles ' +
        'are viewer, editor and admin',
    ),
    v.transform((lines) => lines.map(readRule).filter((rule) => rule !== undefined)),
  )

function readRule(line: string): GroupRule | undefined {
  const { group = '', organization = '', role: word = '' } = RULE.exec(line)?.groups ?? {}
  const role = readOrganizationRole(word)
  return role && { group, organization, role }
}
