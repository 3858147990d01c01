/** The file does not have the form of an NVRAM, or has no room. The message is for the user. */
export class NvramError extends Error {
  override readonly name = 'NvramError';
}
