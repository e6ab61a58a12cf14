import type { Parent } from '../resources/declaration.ts'
import { headBelow } from './organization.ts'

/** The one owner of what belongs to no organization. */
export interface Platform {
  readonly name: string
}

/**
 * The rights of what belongs to the platform. It has no scope: no token is good for more than one
 * organization.
 */
export const OF_PLATFORM = { read: 'platform-admin', change: 'platform-admin' } as const

const PLATFORM: Platform = { name: 'the platform' }

/** Returns what belongs to the whole platform, with the path of its entry in the navigation. */
export const platform = (current: string): Parent<Platform> => ({
  noun: 'platform',
  path: '/admin',
  current,
  facts: {},
  find: async () => PLATFORM,
  name: ({ name }) => name,
  pathOf: () => '/admin',
  crumbs: () => [],
  head: headBelow([]),
})
