/** `Accept-Encoding` (RFC 9110 §12.5.3): what is accepted, what is chosen, and what origins are told. */
import t from 'tap';
import { acceptedCodings, type Coding, normalAcceptEncoding, preferredCoding } from '../../src/http/content-coding.js';

const ALL: readonly Coding[] = ['zstd', 'br', 'gzip'];

t.test('the coding with the greatest weight is chosen, and origins are told one of four values', async (t) => {
  const rows: [field: string, chosen: Coding | undefined, forOrigin: string][] = [
    ['gzip', 'gzip', 'gzip'],
    ['GZIP', 'gzip', 'gzip'],
    ['x-gzip', 'gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd', 'gzip, br'],
    ['br , gzip', 'br', 'gzip, br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip', 'gzip, br'],
    ['gzip ; q=0.2 ,zstd;Q=0.1', 'gzip', 'gzip'],
    ['zstd', 'zstd', 'identity'],
    ['', undefined, 'identity'],
    ['identity', undefined, 'identity'],
    ['deflate, compress, dcb', undefined, 'identity'],
    ['gzip;q=0', undefined, 'identity'],
    ['gzip;q=0.000, *', 'zstd', 'br'],
    ['*', 'zstd', 'gzip, br'],
    ['*;q=0', undefined, 'identity'],
    ['*;q=0, gzip', 'gzip', 'gzip'],
    ['identity;q=0', undefined, 'identity'],
    ['identity;q=0, br', 'br', 'br'],
    ['identity;q=0.5, gzip;q=0.4', undefined, 'identity'],
    ['identity;q=0.5, gzip;q=0.5', 'gzip', 'gzip'],
    // A text that is not a weight accepts nothing.
    ['gzip;q=2', undefined, 'identity'],
    ['gzip;q=0.0001', undefined, 'identity'],
    ['gzip;level=9, br', 'br', 'br'],
    ['gzip;q=0, gzip', undefined, 'identity'],
    [`${'a,'.repeat(8000)}gzip`, undefined, 'identity'],
    ['gzip2, agzip, __proto__', undefined, 'identity'],
  ];
  for (const [field, chosen, forOrigin] of rows) {
    const accepted = acceptedCodings(field);
    t.equal(preferredCoding(accepted, ALL), chosen, field.slice(0, 80));
    t.equal(normalAcceptEncoding(accepted), forOrigin, `${field.slice(0, 80)}, for the origin`);
  }
  t.equal(preferredCoding(acceptedCodings('zstd, br, gzip;q=0.1'), ['gzip']), 'gzip', 'of those that can be made');
});
