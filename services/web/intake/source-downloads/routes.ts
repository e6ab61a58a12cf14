import { Hono } from 'hono'
import { findSource, loadSource } from '../../../platform/crews/sources.ts'
import { AppError } from '../../../shared/errors.ts'
import { isSourceLink } from '../../../shared/source-link.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { streamParts } from '../../http/stream-parts.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

const PATH = '/sources/:id/source.tar.gz'

/**
 * Mounts the downloads with which pods and builds fetch the source of a crew. They have no session
 * and no token: the worker signs the link, which is for one source and some hours.
 */
export function sourceDownloadRoutes({ sql, config }: WebDeps): Hono<WebApp> {
  const keys = {
    secretKeyBase: config.SECRET_KEY_BASE,
    previousSecretKeyBase: config.SECRET_KEY_BASE_PREVIOUS,
  }
  const routes = new Hono<WebApp>()
  // Pods and builds, with a link that a worker signed.
  routes.get(PATH, declareRight('anybody'), async (c) => {
    const id = c.req.param('id')
    const { expires = '', signature = '' } = c.req.query()
    if (!isSourceLink(keys, { id, expires, signature })) {
      throw new AppError(
        'forbidden',
        'This link to a source has ended, or is not one of the platform. Pods get a new one with ' +
          'the next look of a worker, within some minutes.',
      )
    }
    const source = await findSource(sql, Number(id))
    if (!source || source.filesDeletedAt !== null) {
      throw new AppError('not_found', 'The files of this source are no longer kept.')
    }
    return c.body(streamParts(loadSource(sql, source.id)), 200, {
      'content-type': 'application/gzip',
      'content-length': String(source.size),
      'cache-control': 'no-store',
    })
  })
  routes.all(PATH, refuseMethod('GET, HEAD'))
  return routes
}
