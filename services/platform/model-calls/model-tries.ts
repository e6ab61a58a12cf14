import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Database } from '../../shared/postgres/database.ts'

/** The calls that an organization makes again at a time. */
const TRIES_MAX = 4

interface Try {
  readonly organizationId: number
  /** It takes no longer. */
  readonly timeoutMs: number
}

/** Does something as one of the few tries of an organization. Raises `rate_limited`. */
export async function inTry<Result>(
  sql: Database,
  { organizationId, timeoutMs }: Try,
  work: () => Promise<Result>,
): Promise<Result> {
  const id = await begin(sql, { organizationId, timeoutMs })
  try {
    return await work()
  } finally {
    await sql`delete from model_tries where id = ${id}`
  }
}

async function begin(sql: Database, { organizationId, timeoutMs }: Try): Promise<string> {
  const [begun] = await inTransaction(sql, async (tx) => {
    await tx`select from organizations where id = ${organizationId} for no key update`
    await tx`
      delete from model_tries where organization_id = ${organizationId} and ends_at < now()`
    return tx<{ id: string }[]>`
      insert into model_tries (organization_id, ends_at)
      select ${organizationId}, now() + ${timeoutMs} * interval '1 millisecond'
      where (select count(*) from model_tries where organization_id = ${organizationId})
        < ${TRIES_MAX}
      returning id`
  })
  if (begun) return begun.id
  throw new AppError(
    'rate_limited',
    `Your organization makes ${TRIES_MAX} calls again at this moment, and no more are made at a ` +
      'time. Try again in some seconds.',
    { headers: { 'retry-after': '5' } },
  )
}
