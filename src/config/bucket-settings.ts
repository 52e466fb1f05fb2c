/** Settings of the bucket application. */
import { about } from './setting-about.js';
import { isAddress, port, text, texts, wholeNumber } from './values.js';

export const bucketSettings = {
  bucketHost: text().refine(isAddress, { error: 'expected an IP address' }).default('127.0.0.1').register(about, {
    group: 'Bucket application',
    value: 'address',
    summary: 'Address on which the bucket application listens',
  }),
  bucketPort: port()
    .default(8054)
    .register(about, { group: 'Bucket application', value: 'port', summary: 'Port of the bucket application' }),
  authKeySecret: text().optional().register(about, {
    group: 'Bucket application',
    value: 'secret',
    secret: true,
    environment: 'AUTH_KEY_SECRET',
    summary: 'Pre-shared secret that the header `X-Custom-Auth-Key` of a PUT or DELETE must carry',
    defaultText: 'set by `zoneplane secret put`; without a secret, every write is refused',
  }),
  bucketAllowList: texts('object keys', (entry) => entry !== '', { atLeast: 0 })
    .prefault('')
    .register(about, {
      group: 'Bucket application',
      value: 'keys',
      mayBeEmpty: true,
      summary: 'Object keys that anyone may GET, separated by commas',
    }),
  bucketObjectLimit: wholeNumber(0, Number.MAX_SAFE_INTEGER, 'octets')
    .default(100 * 1024 * 1024)
    .register(about, {
      group: 'Bucket application',
      value: 'octets',
      summary: 'Largest accepted object, in octets',
    }),
};
