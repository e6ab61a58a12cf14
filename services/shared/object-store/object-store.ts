/** A file as its store lists it. */
export interface StoredFile {
  /** `<directory>/<file>` */
  readonly path: string
  readonly bytes: number
}

/** Where backups and archived days are kept: a directory, or a bucket. */
export interface ObjectStore {
  /** For people: the directory, or the bucket with its prefix. */
  readonly place: string
  list(): Promise<readonly StoredFile[]>
  /** Raises `not_found`. */
  read(path: string): AsyncIterable<Buffer>
  /** Stores a whole file or nothing. */
  write(path: string, content: AsyncIterable<Buffer>): Promise<void>
  /** Stores a file unless one is there already; returns false then. */
  writeNew(path: string, content: Buffer): Promise<boolean>
  remove(path: string): Promise<void>
}
