/** What `doctor` says about the large bodies of objects: files, or on S3. */
import { messageOf, UserError } from '../../base/errors.js';
import { silentLogger } from '../../base/log.js';
import { compareBodies, type FaultyObject, verifyBodies } from '../../bucket/bodies/compare.js';
import { notedDamage } from '../../bucket/bodies/verify-round.js';
import type { Settings } from '../../config/schema.js';
import { hasDatabase } from '../../roles/process/data-directory.js';
import { openBodies, requireBodies } from '../../roles/services/object-bodies.js';
import { openStore, type Store } from '../../store/driver.js';
import { requireSchema } from '../../store/migrate.js';
import type { Finding } from '../../warnings/finding.js';

const what = 'objects';
const REMEDY = 'Put them back from a backup, or upload these objects again.';
/** Damaged objects that are named. */
const MOST_NAMED = 20;

/** `readsAll`: reads every octet, instead of looking at sizes. Nothing where there are none, and no place is set for them. */
export async function examineBodies(settings: Settings, readsAll: boolean): Promise<Finding[]> {
  if (!hasDatabase(settings.dataDir)) return [];
  let store: Store | undefined;
  try {
    store = openStore(settings.dataDir, { readonly: true });
    requireSchema(store);
    await requireBodies(settings, silentLogger());
    const { blobs, shared } = await openBodies(settings, silentLogger());
    const examine = readsAll ? verifyBodies : compareBodies;
    const { bodies, faults } = await examine(store, blobs).finally(() => blobs.close());
    const place = shared ? 'bodies on S3' : 'files';
    if (readsAll) return describeVerified(bodies, faults);
    const noted = notedDamage(store).map((object) => ({ object, fault: 'content' as const }));
    if (noted.length > 0) return describeVerified(bodies, [...noted, ...faults]);
    if (bodies === 0)
      return shared ? [{ what, verdict: 'ok', text: 'the bucket on S3 answers; no body is there yet' }] : [];
    const [first] = faults;
    if (!first)
      return [{ what, verdict: 'ok', text: `the ${place} of ${bodies} objects are there, with the right size` }];
    const text = `the ${place} of ${faults.length} of ${bodies} objects are missing or not whole, such as that of ${first.object.key}`;
    return [{ what, verdict: 'fail', text, remedy: REMEDY }];
  } catch (error) {
    const remedy = error instanceof UserError ? error.remedy : undefined;
    return [{ what, verdict: 'fail', text: messageOf(error), ...(remedy === undefined ? {} : { remedy }) }];
  } finally {
    store?.close();
  }
}

function describeVerified(bodies: number, faults: readonly FaultyObject[]): Finding[] {
  const [first] = faults;
  if (!first) return [{ what, verdict: 'ok', text: `the bodies of ${bodies} objects are what was stored` }];
  const names = faults.slice(0, MOST_NAMED).map(({ object }) => `${object.bucket_name}/${object.key}`);
  const text = `the bodies of ${faults.length} of ${bodies} objects are damaged, such as that of ${first.object.key}`;
  return [{ what, verdict: 'fail', text: `${text} (${names.join(', ')})`, remedy: REMEDY }];
}
