-- Images of crews take room, of which each organization has some.

alter table crew_deployments
  -- [{"digest": "sha256:…", "size": bytes}, …]: deployments share them; null without an image
  add column image_layers jsonb check (jsonb_typeof(image_layers) = 'array');

-- One row: images were deleted since then, and their room in the registry is not free yet.
create table registry_upkeep (
  is_only boolean primary key default true check (is_only),
  garbage_since timestamptz,
  collected_at timestamptz
);
insert into registry_upkeep default values;
