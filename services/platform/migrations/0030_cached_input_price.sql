-- What a token costs that the provider had in its cache; none where the price of the model does
-- not say: it is paid for like the others.
alter table budget_reservations add column cached_price numeric check (cached_price >= 0);
