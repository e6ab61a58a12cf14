-- What models cost organizations by their own contracts, as the platform sends it: they come before
-- the table of prices that the collector has from its file. A model has one price a day.
create table organization_prices (
  -- in lower case, without what stands before the last slash of a name
  model text not null,
  organization text not null,
  begins timestamptz not null,
  ends timestamptz not null check (ends > begins),
  -- in 1e-12 US dollars for a token
  input float8 not null,
  cached float8 not null,
  cache_write float8 not null,
  audio_input float8 not null,
  output float8 not null,
  reasoning float8 not null,
  audio_output float8 not null,
  primary key (organization, model, begins)
);

select protect_by_organization('organization_prices');
