import { fileURLToPath } from 'node:url'

/** Settings for the servers of tests, which kill processes, never the machine. */
export const SERVER_SETTINGS = { fsync: 'off', full_page_writes: 'off' }

/** Where new data directories of their own servers are copied from, instead of made by initdb. */
export const DATA_CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))
