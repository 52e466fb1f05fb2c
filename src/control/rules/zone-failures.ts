/** Refusals of zones: HTTP status, v4 code, text (v4: §15). */
import { defineErrors } from '../../base/errors.js';

export const zoneFailure = defineErrors('zones', {
  missing: { status: 404, code: 1001, text: 'Invalid zone identifier' },
  foreign: { status: 403, code: 10000, text: 'Authentication error' },
  left: {
    status: 400,
    code: 1061,
    text: '{name} is kept, because it left the catalog of another server. Delete it, or have it served again (secondary catalog restore).',
  },
  exists: { status: 400, code: 1061, text: '{name} already exists' },
  badName: { status: 400, code: 1002, text: 'Invalid domain name: {reason}.' },
  publicSuffix: {
    status: 400,
    code: 1097,
    text: '{name} is a public suffix: others register their names under it. Only an administrator can add it.',
  },
  reserved: {
    status: 400,
    code: 1097,
    text: '{name} is at or above a name of this installation. Only an administrator can add it.',
  },
  stale: { status: 412, code: 10412, text: 'The zone is not in the required state. Its entity tag is {tag}.' },
  changeMissing: { status: 404, code: 10404, text: 'The zone has no change {change}, or it is no longer kept.' },
  badAsOf: {
    status: 400,
    code: 9207,
    text: '{text} does not name a past state: expected an RFC 3339 time, a serial, a change, or one of change:N, serial:N, version:N.',
  },
  notKept: { status: 404, code: 10410, text: '{reason}' },
  held: { status: 400, code: 1118, text: '{name} is held by another account.' },
  holdMissing: { status: 404, code: 1003, text: 'No Zone Hold Found' },
  purgeSelector: {
    status: 400,
    code: 1012,
    text: 'Request must contain one of "purge_everything", "files", "tags", "hosts" or "prefixes"',
  },
  badPurge: { status: 400, code: 1012, text: 'Invalid purge request: {reason}.' },
  purgeTooOften: {
    status: 429,
    code: 971,
    text: 'Please wait and consider throttling your request speed. The cache may be purged {most} times a second.',
  },
  settingFixed: { status: 400, code: 1015, text: 'Not allowed to edit setting for {name}: it is always {value} here.' },
  settingUnknown: { status: 400, code: 1003, text: 'Undefined zone setting: {name}' },
  importsBusy: {
    status: 429,
    code: 971,
    text: 'Too many large zone files of this account are being read. Please wait and try again.',
  },
  scansBusy: { status: 429, code: 971, text: '{most} scans are running. Please wait and try again.' },
  badSetting: { status: 400, code: 1007, text: 'Invalid value for zone setting {name}' },
  importSecondary: {
    status: 400,
    code: 1006,
    text: 'The zone {name} is transferred from its primary. Make it a full zone first (PATCH with the type full), or delete it.',
  },
  becomesSecondary: {
    status: 400,
    code: 1002,
    text: 'A zone cannot become secondary. Delete it, and create one of this type.',
  },
  typeUnsupported: { status: 400, code: 1002, text: 'Zones of type {type} are not supported.' },
  badEdit: { status: 400, code: 1006, text: '{reason}' },
  importExists: {
    status: 400,
    code: 1061,
    text: '{name} already exists. Replace it explicitly to import it again.',
  },
  importUnsigned: {
    status: 400,
    code: 1004,
    text: '{name} is served with the signatures that it came with, and the file has no signatures. --keys signs it here with its own keys; --strip-dnssec ends its signatures, which needs its DS records to be gone.',
  },
});
