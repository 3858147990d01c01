/** The parts of an address, for the page that is there. */
export interface PageProps {
  /** The parts that the pattern of the page names. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}
