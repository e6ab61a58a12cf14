import { createHash } from 'node:crypto'
import type { Automation } from '../../services/platform/automations/automations.ts'
import { createOwnAutomation } from '../../services/platform/crews/own-crews.ts'
import { ensureOrganization } from '../../services/platform/people/organizations.ts'
import { storeSource } from '../../services/platform/crews/sources.ts'
import type { GitOrigin, Source } from '../../services/platform/crews/sources.ts'
import type { Database } from '../../services/shared/postgres/database.ts'

/** Creates an automation of an organization that is to be made from a source. */
export async function seedOwnAutomation(
  sql: Database,
  name: string,
  organization = 'Acme',
): Promise<Automation> {
  const { id: organizationId } = await ensureOrganization(sql, { name: organization })
  return createOwnAutomation(sql, { organizationId, name })
}

/** Stores a source; its bytes are no real archive, and each text is another source. */
export const seedSource = (
  sql: Database,
  { organizationId }: { readonly organizationId: number },
  { text = 'one', git }: { readonly text?: string; readonly git?: GitOrigin } = {},
): Promise<Source> =>
  storeSource(sql, {
    organizationId,
    uploadedBy: null,
    name: 'crew.tar.gz',
    git,
    content: (async function* () {
      yield Buffer.from(text)
    })(),
    description: {
      digest: createHash('sha256').update(text).digest(),
      unpackedSize: text.length,
      fileCount: 1,
      facts: { kind: 'crew' },
    },
  })
