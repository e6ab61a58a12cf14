import type { TarEntry } from '../../../shared/tar/read-tar.ts'

/** An entry of an archive of any kind. */
export type ArchiveEntry = Pick<TarEntry, 'path' | 'kind' | 'size' | 'content'> & {
  readonly isExecutable: boolean
}

/** An archive on the disk, whose entries can be read any number of times. */
export interface OpenArchive {
  entries(): AsyncGenerator<ArchiveEntry>
}
