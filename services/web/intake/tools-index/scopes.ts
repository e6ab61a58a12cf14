import type { Context, MiddlewareHandler } from 'hono'
import { ensureToolRepository, findToolRepository } from '../../../platform/tools/tools.ts'
import { AppError } from '../../../shared/errors.ts'
import { requireToolsReader } from '../../gate/callers/organization.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'

/** A repository as seen from the index that shows it. */
export interface ShownRepository {
  readonly id: number
  /** From the page of a tool to the folder of the files. */
  readonly filesUrl: string
}

/** One index of tools: its readers, its content, and the place of uploads. */
export interface Scope {
  readonly path: string
  readonly isPublic: boolean
  readonly read: MiddlewareHandler<OrganizationCall>
  /** The repositories that it shows; a tool comes from the first one that has it. */
  readonly shown: (c: Context<OrganizationCall>) => Promise<readonly ShownRepository[]>
  /** The repository whose files are its own, if it is there. */
  readonly own: (c: Context<OrganizationCall>) => Promise<number | undefined>
  /** The same for uploads. Raises `forbidden` and `not_found`. */
  readonly written: (c: Context<OrganizationCall>) => Promise<number>
}

const OWN_FILES = '../../files/'
const PUBLIC_FILES = '../../../public/files/'

/**
 * Creates the index of the public tools: everybody reads it, and the platform's own organization
 * writes it.
 */
export function publicScope({ sql }: WebDeps): Scope {
  const own = () => findToolRepository(sql, null)
  return {
    path: '/tools/public',
    isPublic: true,
    read: async (_c, next) => next(),
    own,
    async shown() {
      return [{ id: await getPublic(own), filesUrl: OWN_FILES }]
    },
    async written(c) {
      if (c.var.caller.internal) return getPublic(own)
      throw new AppError(
        'forbidden',
        'Only a token of the internal organization uploads to the public repository. Upload ' +
          'yours to /tools/organization/.',
      )
    },
  }
}

/**
 * What one organization has; the token tells which. It also shows the public tools, but none whose
 * name the organization has itself: nobody else can put a package in the place of one of its own.
 */
export function organizationScope(deps: WebDeps): Scope {
  const { sql } = deps
  const own = (c: Context<OrganizationCall>) => findToolRepository(sql, c.var.caller.organizationId)
  return {
    path: '/tools/organization',
    isPublic: false,
    read: requireToolsReader(deps),
    own,
    async shown(c) {
      const [id, publicId] = [await own(c), await findToolRepository(sql, null)]
      return [
        ...(id === undefined ? [] : [{ id, filesUrl: OWN_FILES }]),
        ...(publicId === undefined ? [] : [{ id: publicId, filesUrl: PUBLIC_FILES }]),
      ]
    },
    written: (c) => ensureToolRepository(sql, c.var.caller.organizationId),
  }
}

async function getPublic(find: () => Promise<number | undefined>): Promise<number> {
  const id = await find()
  if (id !== undefined) return id
  throw new AppError(
    'not_found',
    'The public tool repository is not provisioned. An administrator runs the task ' +
      'tools:install_public_repository.',
  )
}
