import { afterAll, beforeAll, expect, it } from 'vitest'
import { INTERNAL_CREWS } from '../../../services/platform/definitions/internal-crew-definitions.ts'
import { ensureProjectAutomation } from '../../../services/platform/projects/project-automations.ts'
import { publishVersion } from '../../../services/platform/projects/project-versions.ts'
import { ensureProject } from '../../../services/platform/projects/projects.ts'
import { definition } from '../../support/crew.ts'
import { seedAutomation } from '../../support/platform.ts'
import { openPlatform } from '../web/support/platform.ts'
import type { Platform } from '../web/support/platform.ts'

let platform: Platform

beforeAll(async () => {
  platform = await openPlatform()
  const [slug] = INTERNAL_CREWS.runner.slugs
  const runner = { organization: 'Platform', internal: true, name: 'Runner', slug }
  await seedAutomation(platform.sql, runner)
})

afterAll(() => platform.close())

it.each([
  ['Weekly Newsletter!', 'weekly-newsletter'],
  ['تقرير السوق', 'project'],
  ['市场研究', 'project'],
  ['--', 'project'],
  ['x'.repeat(200), 'x'.repeat(35)],
])('the slug of the project “%s” begins with %s and ends with its id', async (name, begin) => {
  const { sql, acme } = platform
  const { organizationId } = acme
  const projectId = await ensureProject(sql, { organizationId, name })
  await publishVersion(sql, projectId, definition)
  const automation = await ensureProjectAutomation(sql, { organizationId, projectId })
  expect(automation?.slug).toBe(`${begin}-${projectId}`)
})
