import type { Queryable } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'

/** Deletes the tests of a project, with their runs. Raises `conflict` while one of them goes on. */
export async function deleteDraftTests(sql: Queryable, projectId: number): Promise<void> {
  const tests = sql`(select id from deployments where tests_project_id = ${projectId})`
  const { count } = await sql`
    select from executions where deployment_id in ${tests} and finished_at is null limit 1`
  if (count > 0) {
    throw new AppError('conflict', 'A test of a draft goes on. Stop its run, or wait for its end.')
  }
  await sql`delete from executions where deployment_id in ${tests}`
  await sql`delete from deployments where tests_project_id = ${projectId}`
}
