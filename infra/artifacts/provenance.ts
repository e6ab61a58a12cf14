/** Something that was made, by its SHA-256 in hexadecimal. */
export interface Made {
  readonly name: string
  readonly sha256: string
}

/** How something was made. */
interface Making {
  readonly made: readonly Made[]
  readonly version: string
  /** The commit of the sources. */
  readonly commit: string
  /** The tree had changes that no commit has. */
  readonly isDirty: boolean
  readonly finishedAt: string
  /** What else went in, by what identifies it. */
  readonly materials: readonly { readonly uri: string; readonly sha256?: string }[]
  /** Whoever made it, as a URI. */
  readonly builderId: string
}

/** The statement of in-toto, with the provenance of SLSA 1, about what was made. Not signed. */
export const provenanceOf = ({
  made,
  version,
  commit,
  isDirty,
  finishedAt,
  materials,
  builderId,
}: Making) => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject: made.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
  predicateType: 'https://slsa.dev/provenance/v1',
  predicate: {
    buildDefinition: {
      buildType: 'urn:crew-platform:artifacts:v1',
      externalParameters: { version, ...(isDirty && { uncommittedChanges: true }) },
      resolvedDependencies: [
        { uri: 'urn:crew-platform:sources', digest: { gitCommit: commit } },
        ...materials.map(({ uri, sha256 }) => ({
          uri,
          ...(sha256 !== undefined && { digest: { sha256 } }),
        })),
      ],
    },
    runDetails: { builder: { id: builderId }, metadata: { finishedOn: finishedAt } },
  },
})
