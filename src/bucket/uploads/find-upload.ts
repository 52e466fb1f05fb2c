/** The upload that a client names. */
import type { Store } from '../../store/driver.js';
import { findUpload, type UploadRow } from '../../store/objects/uploads.js';
import { objectFailure } from '../errors.js';
import type { UploadPlace } from './uploads.js';

/** Throws for an upload of another key or bucket, too. */
export function findAt(store: Store, { bucket, key, id }: UploadPlace): UploadRow {
  const upload = findUpload(store, id);
  if (upload?.bucket !== bucket || upload.key !== key) throw objectFailure('noUpload');
  return upload;
}

/** Throws for one that is complete, too. */
export function requireOpen(store: Store, place: UploadPlace): UploadRow {
  const upload = findAt(store, place);
  if (upload.completed_at !== null) throw objectFailure('noUpload');
  return upload;
}
