/** The bucket application inside the admin process: its own listener, and the most recently bound bucket. */
import { messageOf, UserError } from '../../base/errors.js';
import { parseCidrSet } from '../../base/ip.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import type { Logger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import { buildBucketApplication } from '../../bucket/application.js';
import { type BucketMetrics, createBucketMetrics } from '../../bucket/application-metrics.js';
import { authorizeByMethod, secretMatcher } from '../../bucket/authorization.js';
import { bindBucket, createBucket } from '../../bucket/buckets.js';
import type { ObjectStore } from '../../bucket/object-store.js';
import { allowedKeys } from '../../bucket/request-key.js';
import type { Settings } from '../../config/schema.js';
import { OPERATOR } from '../../control/guard/actor.js';
import type { Context, ContextBase } from '../../control/kernel/context.js';
import type { Store } from '../../store/driver.js';
import { isAuthKeySecret } from '../../store/objects/auth-key-secret.js';
import { allBuckets, lastBoundBucket } from '../../store/objects/buckets.js';
import type { ClusterMember } from '../cluster/member.js';
import { listenFor } from '../process/listen.js';
import type { RoleContext } from '../process/role.js';

export interface ApplicationParts {
  readonly base: ContextBase;
  readonly objects: ObjectStore;
  readonly lifecycle: Lifecycle;
  /** In a cluster. */
  readonly member: ClusterMember | undefined;
}

export interface StartedApplication {
  /** Undefined when it does not listen. */
  readonly url: string | undefined;
  readonly metrics: BucketMetrics;
  /** Keys that anyone may read, as the setting has them. */
  readonly allowList: readonly string[];
}

const FIRST_BUCKET = 'my-bucket';
const FIRST_BINDING = 'MY_BUCKET';

/**
 * Starts the bucket application. If its default port is occupied, the application is skipped with a warning, because
 * name service is more important. Rejects with a UserError when a configured address cannot be used.
 */
export async function startBucketApplication(
  { settings, origins, clock, log }: RoleContext,
  { base, objects, lifecycle, member }: ApplicationParts,
): Promise<StartedApplication> {
  const metrics = createBucketMetrics();
  await makeFirstBucket(base, settings, log);
  const appLog = log.child({});
  const app = buildBucketApplication({
    objects,
    boundBucket: () => lastBoundBucket(base.store)?.seq,
    authorize: authorizeByMethod(secretOf(settings, base.store), allowedKeys(settings.bucketAllowList)),
    limit: settings.bucketObjectLimit,
    trustedProxies: parseCidrSet(settings.trustProxies),
    clock,
    random: systemRandom,
    log: appLog,
    metrics,
    ...(member && { refresh: () => member.replica.refresh() }),
  });
  // Its own line about listening would repeat the announcement.
  appLog.level = 'warn';
  try {
    const place = {
      what: 'the bucket application',
      host: settings.bucketHost,
      port: settings.bucketPort,
      settings: 'bucket',
    };
    const url = await listenFor(app, place, log);
    appLog.level = log.level;
    lifecycle.own('bucket application', app, (part) => part.close());
    return { url, metrics, allowList: settings.bucketAllowList };
  } catch (error) {
    await app.close();
    const chosen = [origins.bucketHost, origins.bucketPort].some(({ kind }) => kind !== 'default');
    if (chosen || !(error instanceof UserError)) throw error;
    log.warn({ reason: messageOf(error), remedy: error.remedy }, 'the bucket application is not served');
    return { url: undefined, metrics, allowList: settings.bucketAllowList };
  }
}

/** The secret from the environment, or the one set by `zoneplane secret put`, which may change at run time. */
function secretOf({ authKeySecret }: Settings, store: Store): (given: string) => boolean {
  return authKeySecret === undefined ? (given) => isAuthKeySecret(store, given) : secretMatcher(authKeySecret);
}

/** An operator who sets a secret wants to store objects, so if there is no bucket, one is created and bound. */
async function makeFirstBucket(base: ContextBase, settings: Settings, log: Logger): Promise<void> {
  if (settings.authKeySecret === undefined || allBuckets(base.store).length > 0) return;
  const context: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
  await createBucket(context, undefined, { name: FIRST_BUCKET, jurisdiction: 'default' });
  await bindBucket(context, undefined, FIRST_BUCKET, 'default', FIRST_BINDING);
  log.info({ bucket: FIRST_BUCKET, binding: FIRST_BINDING }, 'created the first bucket for the bucket application');
}
