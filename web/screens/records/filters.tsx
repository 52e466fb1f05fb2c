/** The filters of the list of records: they stand in the address. */
import { Search } from '../../parts/search.js';
import { go, usePlace, withQuery } from '../../router.js';
import type { RecordType } from '../../types.js';

export function Filters({ types }: { readonly types: readonly RecordType[] }) {
  const { query } = usePlace();
  const set = (name: string, value: string): void => go(withQuery({ [name]: value, page: undefined }));
  const type = query.get('type') ?? '';
  const tag = query.get('tag');
  const names = types.map((entry) => entry.type);
  return (
    <div class="tools">
      <Search name="search" label="Search records" placeholder="Search names, content, comments" />
      <label class="select">
        <span class="hidden">Type</span>
        <select value={type} onChange={(event) => set('type', event.currentTarget.value)}>
          <option value="">All types</option>
          {[...(type === '' || names.includes(type) ? [] : [type]), ...names].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label class="select">
        <span class="hidden">Proxied</span>
        <select value={query.get('proxied') ?? ''} onChange={(event) => set('proxied', event.currentTarget.value)}>
          <option value="">Proxied or not</option>
          <option value="true">Proxied</option>
          <option value="false">DNS only</option>
        </select>
      </label>
      {tag !== null && (
        <button type="button" class="tag" onClick={() => set('tag', '')} aria-label={`No longer only the tag ${tag}`}>
          <bdi>{tag}</bdi> ✕
        </button>
      )}
    </div>
  );
}
