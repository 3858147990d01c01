/** Begins a download as a link would. */
export function download(address: string, name = ''): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
}

/** So long the browser may take until it has begun to read a file. */
const KEPT_MS = 60_000;

/** Saves what the page has made itself. */
export function saveFile(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  download(address, name);
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
