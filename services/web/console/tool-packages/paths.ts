import type { IndexName } from './commands.ts'

/** The list of packages. */
export const PACKAGES_PATH = '/tools-packages'

/** Returns the address of the page of a package. */
export const packagePath = (index: IndexName, name: string): string =>
  `${PACKAGES_PATH}/${index}/${encodeURIComponent(name)}`

/** Returns the address of an action on a file. */
export const filePath = (id: number, action: 'yank' | 'unyank'): string =>
  `${PACKAGES_PATH}/files/${id}/${action}`
