/** Errors of sockets in words; others say themselves what is wrong. */
export function inWords(error: string): string {
  if (error.includes('ECONNREFUSED')) return 'nothing listens at this address and port';
  if (error.includes('EHOSTUNREACH') || error.includes('ENETUNREACH')) return 'the network does not lead there';
  return error;
}
