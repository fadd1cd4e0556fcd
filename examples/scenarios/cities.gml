graph [
  directed 0
  label "Five cities"
  node [ id 0 label "Lisbon" Latitude 38.72 Longitude -9.14 ]
  node [ id 1 label "Madrid" Latitude 40.42 Longitude -3.70 ]
  node [ id 2 label "Paris" Latitude 48.86 Longitude 2.35 ]
  node [ id 3 label "Milan" Latitude 45.46 Longitude 9.19 ]
  node [ id 4 label "Berlin" Latitude 52.52 Longitude 13.40 ]
  edge [ source 0 target 1 LinkSpeedRaw 100000000.0 ]
  edge [ source 1 target 2 LinkSpeedRaw 100000000.0 ]
  edge [ source 1 target 3 LinkSpeedRaw 100000000.0 ]
  edge [ source 2 target 3 LinkSpeedRaw 100000000.0 ]
  edge [ source 2 target 4 LinkSpeedRaw 100000000.0 ]
  edge [ source 3 target 4 LinkSpeedRaw 100000000.0 ]
]
