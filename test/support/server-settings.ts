/** Settings for the servers of tests, which kill processes, never the machine. */
export const SERVER_SETTINGS = { fsync: 'off', full_page_writes: 'off' }
