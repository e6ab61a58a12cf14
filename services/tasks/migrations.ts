/** The folders of both schemas, which lie beside the bundle of the tasks, too. */
export const MIGRATIONS = {
  main: new URL('../platform/migrations/', import.meta.url),
  collector: new URL('../collector/migrations/', import.meta.url),
}
